/* One row per device, from the vendors' data sheets and architecture papers. Peaks with sparsity
 * are halved. GeForce devices do matrix products in f16 with f32 accumulation at half the rate of
 * f16 accumulation; the table has the former, as frameworks use it. Devices of two dies that appear
 * as two devices (MI250) have one die's rates.
 *
 * A name matches a row that contains all of its words but those that say nothing about speed.
 * A word such as "laptop" or "max" that is not in a row is another device: it stays unknown. Among
 * matching rows the one with the most words wins; among equals the first, which is the largest
 * configuration, so that its roofs are lower bounds of the time.
 */
#include "analysis/published.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/array.h"

#define PCIE3 15.75
#define PCIE4 31.5
#define PCIE5 63.0

/* clang-format off */
static const struct published rows[] = {
    /* words, units, memory, f64, f32, matrix: f64, f32, f16, bf16, f8, i8; cache MB, link, source */

    /* NVIDIA Pascal */
    {"p100 sxm2", 56, 732, 5.3, 10.6, 0, 0, 0, 0, 0, 0, 4, PCIE3, "NVIDIA Tesla P100 whitepaper"},
    {"p100 pcie", 56, 732, 4.7, 9.3, 0, 0, 0, 0, 0, 0, 4, PCIE3, "NVIDIA Tesla P100 PCIe data sheet"},
    {"p40", 30, 346, 0.37, 11.76, 0, 0, 0, 0, 0, 47, 3, PCIE3, "NVIDIA Tesla P40 data sheet"},
    {"p4", 20, 192, 0.17, 5.5, 0, 0, 0, 0, 0, 22, 2, PCIE3, "NVIDIA Tesla P4 data sheet"},
    {"gtx 1080 ti", 28, 484, 0.35, 11.3, 0, 0, 0, 0, 0, 0, 2.75, PCIE3, "NVIDIA GeForce GTX 1080 Ti specifications"},
    {"gtx 1080", 20, 320, 0.28, 8.87, 0, 0, 0, 0, 0, 0, 2, PCIE3, "NVIDIA GeForce GTX 1080 whitepaper"},
    {"gtx 1070", 15, 256, 0.2, 6.46, 0, 0, 0, 0, 0, 0, 2, PCIE3, "NVIDIA GeForce GTX 1070 specifications"},
    {"titan xp", 30, 547.6, 0.38, 12.15, 0, 0, 0, 0, 0, 0, 3, PCIE3, "NVIDIA TITAN Xp specifications"},
    /* Volta */
    {"v100 sxm2", 80, 900, 7.8, 15.7, 0, 0, 125, 0, 0, 0, 6, PCIE3, "NVIDIA V100 data sheet"},
    {"v100 dgxs", 80, 900, 7.8, 15.7, 0, 0, 125, 0, 0, 0, 6, PCIE3, "NVIDIA V100 data sheet"},
    {"v100 pcie", 80, 900, 7, 14, 0, 0, 112, 0, 0, 0, 6, PCIE3, "NVIDIA V100 data sheet"},
    {"v100s pcie", 80, 1134, 8.2, 16.4, 0, 0, 130, 0, 0, 0, 6, PCIE3, "NVIDIA V100 data sheet"},
    {"titan v", 80, 652.8, 7.45, 14.9, 0, 0, 110, 0, 0, 0, 4.5, PCIE3, "NVIDIA TITAN V specifications"},
    /* Turing */
    {"t4", 40, 320, 0.25, 8.1, 0, 0, 65, 0, 0, 130, 4, PCIE3, "NVIDIA T4 data sheet"},
    {"titan rtx", 72, 672, 0.51, 16.3, 0, 0, 130.5, 0, 0, 261, 6, PCIE3, "NVIDIA Turing whitepaper"},
    {"quadro rtx 8000", 72, 672, 0.51, 16.3, 0, 0, 130.5, 0, 0, 261, 6, PCIE3, "NVIDIA Turing whitepaper"},
    {"quadro rtx 6000", 72, 672, 0.51, 16.3, 0, 0, 130.5, 0, 0, 261, 6, PCIE3, "NVIDIA Turing whitepaper"},
    {"quadro rtx 5000", 48, 448, 0.35, 11.2, 0, 0, 89.2, 0, 0, 178.4, 4, PCIE3, "NVIDIA Turing whitepaper"},
    {"rtx 2080 ti", 68, 616, 0.42, 13.4, 0, 0, 53.8, 0, 0, 215.2, 5.5, PCIE3, "NVIDIA Turing whitepaper"},
    {"rtx 2080 super", 48, 496, 0.35, 11.2, 0, 0, 44.6, 0, 0, 178.4, 4, PCIE3, "NVIDIA Turing whitepaper"},
    {"rtx 2080", 46, 448, 0.31, 10.1, 0, 0, 40.3, 0, 0, 161.1, 4, PCIE3, "NVIDIA Turing whitepaper"},
    {"rtx 2070 super", 40, 448, 0.28, 9.1, 0, 0, 36.3, 0, 0, 145, 4, PCIE3, "NVIDIA Turing whitepaper"},
    {"rtx 2070", 36, 448, 0.23, 7.5, 0, 0, 29.9, 0, 0, 119.4, 4, PCIE3, "NVIDIA Turing whitepaper"},
    {"rtx 2060", 30, 336, 0.2, 6.5, 0, 0, 25.8, 0, 0, 103.2, 3, PCIE3, "NVIDIA Turing whitepaper"},
    {"gtx 1660 ti", 24, 288, 0.17, 5.4, 0, 0, 0, 0, 0, 0, 1.5, PCIE3, "NVIDIA GeForce GTX 1660 Ti specifications"},
    {"gtx 1660 super", 22, 336, 0.16, 5, 0, 0, 0, 0, 0, 0, 1.5, PCIE3, "NVIDIA GeForce GTX 1660 SUPER specifications"},
    {"gtx 1660", 22, 192, 0.16, 5, 0, 0, 0, 0, 0, 0, 1.5, PCIE3, "NVIDIA GeForce GTX 1660 specifications"},
    {"gtx 1650", 14, 128, 0.09, 3, 0, 0, 0, 0, 0, 0, 1, PCIE3, "NVIDIA GeForce GTX 1650 specifications"},
    /* Ampere */
    {"a100 sxm4 80gb", 108, 2039, 9.7, 19.5, 19.5, 156, 312, 312, 0, 624, 40, PCIE4, "NVIDIA A100 data sheet"},
    {"a100 sxm4", 108, 1555, 9.7, 19.5, 19.5, 156, 312, 312, 0, 624, 40, PCIE4, "NVIDIA A100 data sheet"},
    {"a100 pg509 200", 108, 1555, 9.7, 19.5, 19.5, 156, 312, 312, 0, 624, 40, PCIE4, "NVIDIA A100 data sheet"},
    {"a100 80gb pcie", 108, 1935, 9.7, 19.5, 19.5, 156, 312, 312, 0, 624, 40, PCIE4, "NVIDIA A100 data sheet"},
    {"a100 pcie", 108, 1555, 9.7, 19.5, 19.5, 156, 312, 312, 0, 624, 40, PCIE4, "NVIDIA A100 data sheet"},
    {"a800 sxm4", 108, 2039, 9.7, 19.5, 19.5, 156, 312, 312, 0, 624, 40, PCIE4, "NVIDIA A800 data sheet"},
    {"a800 80gb pcie", 108, 1935, 9.7, 19.5, 19.5, 156, 312, 312, 0, 624, 40, PCIE4, "NVIDIA A800 data sheet"},
    {"a30", 56, 933, 5.2, 10.3, 10.3, 82, 165, 165, 0, 330, 24, PCIE4, "NVIDIA A30 data sheet"},
    {"a40", 84, 696, 0.58, 37.4, 0, 74.8, 149.7, 149.7, 0, 299.3, 6, PCIE4, "NVIDIA A40 data sheet"},
    {"a10g", 80, 600, 0, 35, 0, 35, 70, 70, 0, 140, 6, PCIE4, "NVIDIA A10G data sheet"},
    {"a10", 72, 600, 0.49, 31.2, 0, 62.5, 125, 125, 0, 250, 6, PCIE4, "NVIDIA A10 data sheet"},
    {"a2", 10, 200, 0.07, 4.5, 0, 9, 18, 18, 0, 36, 2, PCIE4 / 2, "NVIDIA A2 data sheet"},
    {"rtx a6000", 84, 768, 0.6, 38.7, 0, 77.4, 154.8, 154.8, 0, 309.7, 6, PCIE4, "NVIDIA RTX A6000 data sheet"},
    {"rtx a5000", 64, 768, 0.43, 27.8, 0, 55.6, 111.1, 111.1, 0, 222.2, 6, PCIE4, "NVIDIA RTX A5000 data sheet"},
    {"rtx a4000", 48, 448, 0.3, 19.2, 0, 38.3, 76.7, 76.7, 0, 153.4, 4, PCIE4, "NVIDIA RTX A4000 data sheet"},
    {"rtx a2000", 26, 288, 0.12, 8, 0, 16, 31.9, 31.9, 0, 63.9, 3, PCIE4, "NVIDIA RTX A2000 data sheet"},
    {"rtx 3090 ti", 84, 1008, 0.63, 40, 0, 40, 80, 80, 0, 320, 6, PCIE4, "NVIDIA Ampere GA102 whitepaper"},
    {"rtx 3090", 82, 936, 0.56, 35.6, 0, 35.6, 71, 71, 0, 284, 6, PCIE4, "NVIDIA Ampere GA102 whitepaper"},
    {"rtx 3080 ti", 80, 912, 0.53, 34.1, 0, 34.1, 68.2, 68.2, 0, 273, 6, PCIE4, "NVIDIA Ampere GA102 whitepaper"},
    {"rtx 3080", 70, 912, 0.48, 30.6, 0, 30.6, 61.3, 61.3, 0, 245, 6, PCIE4, "NVIDIA GeForce RTX 3080 (12 GB) specifications"},
    {"rtx 3080", 68, 760, 0.47, 29.8, 0, 29.8, 59.5, 59.5, 0, 238, 5, PCIE4, "NVIDIA Ampere GA102 whitepaper"},
    {"rtx 3070 ti", 48, 608, 0.34, 21.7, 0, 21.7, 43.5, 43.5, 0, 174, 4, PCIE4, "NVIDIA Ampere GA102 whitepaper"},
    {"rtx 3070", 46, 448, 0.32, 20.3, 0, 20.3, 40.6, 40.6, 0, 162.6, 4, PCIE4, "NVIDIA Ampere GA102 whitepaper"},
    {"rtx 3060 ti", 38, 448, 0.25, 16.2, 0, 16.2, 32.4, 32.4, 0, 129.6, 4, PCIE4, "NVIDIA GeForce RTX 3060 Ti specifications"},
    {"rtx 3060", 28, 360, 0.2, 12.7, 0, 12.7, 25.5, 25.5, 0, 102, 3, PCIE4, "NVIDIA GeForce RTX 3060 specifications"},
    {"rtx 3050", 20, 224, 0.14, 9.1, 0, 9.1, 18.2, 18.2, 0, 73, 2, PCIE4 / 2, "NVIDIA GeForce RTX 3050 specifications"},
    /* Ada */
    {"l40s", 142, 864, 1.4, 91.6, 0, 183, 362, 362, 733, 733, 96, PCIE4, "NVIDIA L40S data sheet"},
    {"l40", 142, 864, 1.4, 90.5, 0, 90.5, 181, 181, 362, 362, 96, PCIE4, "NVIDIA L40 data sheet"},
    {"l4", 58, 300, 0.47, 30.3, 0, 60, 121, 121, 242.5, 242.5, 48, PCIE4, "NVIDIA L4 data sheet"},
    {"rtx 6000 ada", 142, 960, 1.4, 91.1, 0, 182.1, 364.2, 364.2, 728.5, 728.5, 96, PCIE4, "NVIDIA RTX 6000 Ada data sheet"},
    {"rtx 5000 ada", 100, 576, 1, 65.3, 0, 130.6, 261.1, 261.1, 522.1, 522.1, 72, PCIE4, "NVIDIA RTX 5000 Ada data sheet"},
    {"rtx 4500 ada", 60, 432, 0.6, 39.6, 0, 79.3, 158.5, 158.5, 317, 317, 48, PCIE4, "NVIDIA RTX 4500 Ada data sheet"},
    {"rtx 4000 ada", 48, 360, 0.4, 26.7, 0, 53.4, 106.9, 106.9, 213.8, 213.8, 48, PCIE4, "NVIDIA RTX 4000 Ada data sheet"},
    {"rtx 4090", 128, 1008, 1.3, 82.6, 0, 82.6, 165.2, 165.2, 330.3, 660.6, 72, PCIE4, "NVIDIA Ada whitepaper"},
    {"rtx 4080 super", 80, 736, 0.8, 52.2, 0, 52.2, 104.4, 104.4, 208.9, 417.8, 64, PCIE4, "NVIDIA GeForce RTX 4080 SUPER specifications"},
    {"rtx 4080", 76, 716.8, 0.76, 48.7, 0, 48.7, 97.5, 97.5, 194.9, 389.9, 64, PCIE4, "NVIDIA Ada whitepaper"},
    {"rtx 4070 ti super", 66, 672, 0.69, 44.1, 0, 44.1, 88.2, 88.2, 176.4, 352.8, 48, PCIE4, "NVIDIA GeForce RTX 4070 Ti SUPER specifications"},
    {"rtx 4070 ti", 60, 504, 0.63, 40.1, 0, 40.1, 80.2, 80.2, 160.4, 320.7, 48, PCIE4, "NVIDIA Ada whitepaper"},
    {"rtx 4070 super", 56, 504, 0.55, 35.5, 0, 35.5, 71, 71, 142, 284, 48, PCIE4, "NVIDIA GeForce RTX 4070 SUPER specifications"},
    {"rtx 4070", 46, 504, 0.46, 29.1, 0, 29.1, 58.3, 58.3, 116.6, 233.2, 36, PCIE4, "NVIDIA GeForce RTX 4070 specifications"},
    {"rtx 4060 ti", 34, 288, 0.34, 22.1, 0, 22.1, 44.1, 44.1, 88.2, 176.5, 32, PCIE4 / 2, "NVIDIA GeForce RTX 4060 Ti specifications"},
    {"rtx 4060", 24, 272, 0.24, 15.1, 0, 15.1, 30.2, 30.2, 60.5, 121, 24, PCIE4 / 2, "NVIDIA GeForce RTX 4060 specifications"},
    /* Hopper */
    {"h200 nvl", 132, 4800, 30, 60, 60, 417.5, 835.5, 835.5, 1671, 1671, 50, PCIE5, "NVIDIA H200 data sheet"},
    {"h200", 132, 4800, 33.5, 67, 67, 494.7, 989.4, 989.4, 1978.9, 1978.9, 50, PCIE5, "NVIDIA H200 data sheet"},
    {"h100 nvl", 132, 3938, 30, 60, 60, 417.5, 835.5, 835.5, 1671, 1671, 50, PCIE5, "NVIDIA H100 data sheet"},
    {"h100 pcie", 114, 2039, 25.6, 51.2, 51.2, 378, 756, 756, 1513, 1513, 50, PCIE5, "NVIDIA H100 data sheet"},
    {"h100", 132, 3352, 33.5, 67, 67, 494.7, 989.4, 989.4, 1978.9, 1978.9, 50, PCIE5, "NVIDIA H100 data sheet"},
    {"h800", 132, 3352, 1, 67, 1, 494.7, 989.4, 989.4, 1978.9, 1978.9, 50, PCIE5, "NVIDIA H800 data sheet"},
    {"h20", 78, 4000, 1, 44, 1, 74, 148, 148, 296, 296, 60, PCIE5, "NVIDIA H20 data sheet"},
    {"gh200", 132, 4000, 33.5, 67, 67, 494.7, 989.4, 989.4, 1978.9, 1978.9, 50, 450, "NVIDIA GH200 data sheet"},
    /* Blackwell */
    {"b300", 0, 8000, 1.2, 75, 0, 1125, 2250, 2250, 4500, 0, 126, PCIE5, "NVIDIA HGX B300 data sheet"},
    {"b200", 148, 8000, 37, 75, 37, 1125, 2250, 2250, 4500, 4500, 126, PCIE5, "NVIDIA HGX B200 data sheet"},
    {"b100", 0, 8000, 30, 60, 30, 875, 1750, 1750, 3500, 3500, 126, PCIE5, "NVIDIA HGX B100 data sheet"},
    {"gb200", 0, 8000, 40, 80, 40, 1250, 2500, 2500, 5000, 5000, 126, 450, "NVIDIA GB200 NVL72 data sheet"},
    {"gb10", 48, 273, 0, 31, 0, 0, 125, 125, 250, 0, 24, 0, "NVIDIA DGX Spark data sheet"},
    {"rtx pro 6000 blackwell workstation", 188, 1792, 1.9, 125, 0, 251.9, 503.8, 503.8, 1007.6, 1007.6, 128, PCIE5, "NVIDIA RTX PRO 6000 Blackwell data sheet"},
    {"rtx 5090", 170, 1792, 1.6, 104.8, 0, 104.8, 209.5, 209.5, 419, 838, 96, PCIE5, "NVIDIA RTX Blackwell whitepaper"},
    {"rtx 5080", 84, 960, 0.88, 56.3, 0, 56.3, 112.6, 112.6, 225.1, 450.2, 64, PCIE5, "NVIDIA RTX Blackwell whitepaper"},
    {"rtx 5070 ti", 70, 896, 0.69, 43.9, 0, 43.9, 87.9, 87.9, 175.8, 351.5, 48, PCIE5, "NVIDIA RTX Blackwell whitepaper"},
    {"rtx 5070", 48, 672, 0.48, 30.9, 0, 30.9, 61.7, 61.7, 123.5, 246.9, 48, PCIE5, "NVIDIA RTX Blackwell whitepaper"},
    {"rtx 5060 ti", 36, 448, 0.37, 23.7, 0, 23.7, 47.4, 47.4, 94.9, 189.8, 32, PCIE5 / 2, "NVIDIA GeForce RTX 5060 Ti specifications"},
    /* Jetson: all of a family have one name */
    {"orin", 16, 204.8, 0.08, 5.3, 0, 10.6, 21.3, 21.3, 0, 42.5, 4, 0, "NVIDIA Jetson AGX Orin data sheet"},
    {"xavier", 8, 136.5, 0.04, 1.4, 0, 0, 11, 0, 0, 22, 0.5, 0, "NVIDIA Jetson AGX Xavier data sheet"},
    {"tegra x1", 1, 25.6, 0, 0.236, 0, 0, 0, 0, 0, 0, 0.25, 0, "NVIDIA Jetson Nano data sheet"},

    /* AMD Instinct; MI250 by die */
    {"mi355x", 256, 8000, 78.6, 157.3, 78.6, 0, 2516.6, 2516.6, 5033.2, 5033.2, 256, PCIE5, "AMD Instinct MI355X data sheet"},
    {"mi350x", 256, 8000, 72.1, 144.2, 72.1, 0, 2306.9, 2306.9, 4613.7, 4613.7, 256, PCIE5, "AMD Instinct MI350X data sheet"},
    {"mi325x", 304, 6000, 81.7, 163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 2614.9, 256, PCIE5, "AMD Instinct MI325X data sheet"},
    {"mi300x", 304, 5300, 81.7, 163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 2614.9, 256, PCIE5, "AMD Instinct MI300X data sheet"},
    {"mi300a", 228, 5300, 61.3, 122.6, 122.6, 490.3, 980.6, 980.6, 1961.2, 1961.2, 256, 0, "AMD Instinct MI300A data sheet"},
    {"mi250x mi250", 110, 1638.4, 23.95, 23.95, 47.9, 47.9, 191.5, 191.5, 0, 191.5, 8, PCIE4, "AMD Instinct MI250X data sheet"},
    {"mi250x mi250", 104, 1638.4, 22.65, 22.65, 45.3, 45.3, 181, 181, 0, 181, 8, PCIE4, "AMD Instinct MI250 data sheet"},
    {"mi250x", 110, 1638.4, 23.95, 23.95, 47.9, 47.9, 191.5, 191.5, 0, 191.5, 8, PCIE4, "AMD Instinct MI250X data sheet"},
    {"mi250", 104, 1638.4, 22.65, 22.65, 45.3, 45.3, 181, 181, 0, 181, 8, PCIE4, "AMD Instinct MI250 data sheet"},
    {"mi210", 104, 1638.4, 22.6, 22.6, 45.3, 45.3, 181, 181, 0, 181, 8, PCIE4, "AMD Instinct MI210 data sheet"},
    {"mi100", 120, 1228.8, 11.5, 23.1, 0, 46.1, 184.6, 92.3, 0, 184.6, 8, PCIE4, "AMD Instinct MI100 data sheet"},
    /* RDNA 4, 3, 2 */
    {"ai pro r9700", 64, 640, 1.5, 47.8, 0, 0, 191, 191, 383, 383, 64, PCIE5, "AMD Radeon AI PRO R9700 data sheet"},
    {"rx 9070 xt", 64, 640, 1.5, 48.7, 0, 0, 195, 195, 389, 389, 64, PCIE5, "AMD Radeon RX 9070 XT specifications"},
    {"rx 9070", 56, 640, 1.1, 36.1, 0, 0, 145, 145, 289, 289, 64, PCIE5, "AMD Radeon RX 9070 specifications"},
    {"rx 9060 xt", 32, 320, 0.8, 25.6, 0, 0, 103, 103, 205, 205, 32, PCIE5, "AMD Radeon RX 9060 XT specifications"},
    {"rx 7900 xtx", 96, 960, 1.9, 61.4, 0, 0, 122.8, 122.8, 0, 122.8, 96, PCIE4, "AMD Radeon RX 7900 XTX specifications"},
    {"rx 7900 xt", 84, 800, 1.6, 51.5, 0, 0, 103, 103, 0, 103, 80, PCIE4, "AMD Radeon RX 7900 XT specifications"},
    {"rx 7900 gre", 80, 576, 1.4, 46, 0, 0, 92, 92, 0, 92, 64, PCIE4, "AMD Radeon RX 7900 GRE specifications"},
    {"rx 7800 xt", 60, 624, 1.2, 37.3, 0, 0, 74.6, 74.6, 0, 74.6, 64, PCIE4, "AMD Radeon RX 7800 XT specifications"},
    {"rx 7700 xt", 54, 432, 1.1, 35.2, 0, 0, 70.3, 70.3, 0, 70.3, 48, PCIE4, "AMD Radeon RX 7700 XT specifications"},
    {"rx 7600", 32, 288, 0.7, 21.8, 0, 0, 43.5, 43.5, 0, 43.5, 32, PCIE4 / 2, "AMD Radeon RX 7600 specifications"},
    {"pro w7900", 96, 864, 1.9, 61.3, 0, 0, 122.6, 122.6, 0, 122.6, 96, PCIE4, "AMD Radeon PRO W7900 data sheet"},
    {"pro w7800", 70, 576, 1.4, 45.2, 0, 0, 90.5, 90.5, 0, 90.5, 64, PCIE4, "AMD Radeon PRO W7800 data sheet"},
    {"rx 6950 xt", 80, 576, 1.5, 23.7, 0, 0, 0, 0, 0, 0, 128, PCIE4, "AMD Radeon RX 6950 XT specifications"},
    {"rx 6900 xt", 80, 512, 1.4, 23, 0, 0, 0, 0, 0, 0, 128, PCIE4, "AMD Radeon RX 6900 XT specifications"},
    {"rx 6800 xt", 72, 512, 1.3, 20.7, 0, 0, 0, 0, 0, 0, 128, PCIE4, "AMD Radeon RX 6800 XT specifications"},
    {"rx 6800", 60, 512, 1, 16.2, 0, 0, 0, 0, 0, 0, 128, PCIE4, "AMD Radeon RX 6800 specifications"},
    {"rx 6700 xt", 40, 384, 0.83, 13.2, 0, 0, 0, 0, 0, 0, 96, PCIE4, "AMD Radeon RX 6700 XT specifications"},
    {"rx 6600 xt", 32, 256, 0.66, 10.6, 0, 0, 0, 0, 0, 0, 32, PCIE4 / 2, "AMD Radeon RX 6600 XT specifications"},
    {"rx 6600", 28, 224, 0.56, 8.9, 0, 0, 0, 0, 0, 0, 32, PCIE4 / 2, "AMD Radeon RX 6600 specifications"},

    /* Apple: compute rates were only published up to M2 */
    {"m1 ultra", 0, 800, 0, 21, 0, 0, 0, 0, 0, 0, 96, 0, "Apple, introduction of M1 Ultra"},
    {"m1 max", 0, 400, 0, 10.4, 0, 0, 0, 0, 0, 0, 48, 0, "Apple, introduction of M1 Max"},
    {"m1 pro", 0, 200, 0, 5.2, 0, 0, 0, 0, 0, 0, 24, 0, "Apple, introduction of M1 Pro"},
    {"m1", 0, 68.25, 0, 2.6, 0, 0, 0, 0, 0, 0, 8, 0, "Apple, introduction of M1"},
    {"m2 ultra", 0, 800, 0, 27.2, 0, 0, 0, 0, 0, 0, 96, 0, "Apple, introduction of M2 Ultra"},
    {"m2 max", 0, 400, 0, 13.6, 0, 0, 0, 0, 0, 0, 48, 0, "Apple, introduction of M2 Max"},
    {"m2 pro", 0, 200, 0, 6.8, 0, 0, 0, 0, 0, 0, 24, 0, "Apple, introduction of M2 Pro"},
    {"m2", 0, 100, 0, 3.6, 0, 0, 0, 0, 0, 0, 8, 0, "Apple, introduction of M2"},
    {"m3 ultra", 0, 819, 0, 0, 0, 0, 0, 0, 0, 0, 96, 0, "Apple Mac Studio specifications"},
    {"m3 max", 40, 400, 0, 0, 0, 0, 0, 0, 0, 0, 48, 0, "Apple MacBook Pro specifications"},
    {"m3 max", 30, 300, 0, 0, 0, 0, 0, 0, 0, 0, 48, 0, "Apple MacBook Pro specifications"},
    {"m3 pro", 0, 150, 0, 0, 0, 0, 0, 0, 0, 0, 12, 0, "Apple MacBook Pro specifications"},
    {"m3", 0, 100, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, "Apple MacBook Pro specifications"},
    {"m4 max", 40, 546, 0, 0, 0, 0, 0, 0, 0, 0, 48, 0, "Apple MacBook Pro specifications"},
    {"m4 max", 32, 410, 0, 0, 0, 0, 0, 0, 0, 0, 48, 0, "Apple MacBook Pro specifications"},
    {"m4 pro", 0, 273, 0, 0, 0, 0, 0, 0, 0, 0, 24, 0, "Apple Mac mini specifications"},
    {"m4", 0, 120, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, "Apple Mac mini specifications"},
    {"m5", 0, 153, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, "Apple MacBook Pro specifications"},

    /* Intel */
    {"data center max 1550", 0, 3276.8, 52.4, 52.4, 0, 419, 839, 839, 0, 1678, 408, PCIE5, "Intel Data Center GPU Max 1550 brief"},
    {"data center max 1100", 0, 1228.8, 22.2, 22.2, 0, 177, 355, 355, 0, 711, 108, PCIE5, "Intel Data Center GPU Max 1100 brief"},
    {"arc a770", 0, 560, 0, 19.7, 0, 0, 137.6, 137.6, 0, 275, 16, PCIE4, "Intel Arc A770 specifications"},
    {"arc a750", 0, 512, 0, 17.2, 0, 0, 114.7, 114.7, 0, 229, 16, PCIE4, "Intel Arc A750 specifications"},
    {"arc b580", 0, 456, 0, 13.7, 0, 0, 116.5, 116.5, 0, 233, 18, PCIE4 / 2, "Intel Arc B580 specifications"},
    {"arc b570", 0, 380, 0, 11.5, 0, 0, 101.5, 101.5, 0, 203, 13.5, PCIE4 / 2, "Intel Arc B570 specifications"},

    /* TPU, by chip; a v3 device is one of two cores */
    {"tpu v7", 0, 7370, 0, 0, 0, 0, 0, 2307, 4614, 0, 0, 0, "Google Cloud TPU documentation"},
    {"tpu v6e", 0, 1640, 0, 0, 0, 0, 0, 918, 0, 1836, 0, 0, "Google Cloud TPU documentation"},
    {"tpu v6 lite", 0, 1640, 0, 0, 0, 0, 0, 918, 0, 1836, 0, 0, "Google Cloud TPU documentation"},
    {"tpu v5p", 0, 2765, 0, 0, 0, 0, 0, 459, 0, 918, 0, 0, "Google Cloud TPU documentation"},
    {"tpu v5", 0, 2765, 0, 0, 0, 0, 0, 459, 0, 918, 0, 0, "Google Cloud TPU documentation"},
    {"tpu v5e", 0, 819, 0, 0, 0, 0, 0, 197, 0, 393, 0, 0, "Google Cloud TPU documentation"},
    {"tpu v5 lite", 0, 819, 0, 0, 0, 0, 0, 197, 0, 393, 0, 0, "Google Cloud TPU documentation"},
    {"tpu v4", 0, 1228, 0, 0, 0, 0, 0, 275, 0, 0, 0, 0, "Google Cloud TPU documentation"},
    {"tpu v3", 0, 450, 0, 0, 0, 0, 0, 61.5, 0, 0, 0, 0, "Google Cloud TPU documentation"},
};
/* clang-format on */

const struct published *published_rows(unsigned *count) {
    *count = ARRAY_COUNT(rows);
    return rows;
}

/* ---- Words of a name ---- */

enum { WORD_SIZE = 24 };

/* The next word, in lower case: letters and digits. False at the end. Words that are longer than
 * any in the table are cut, and match none. */
static bool next_word(struct text *rest, char word[WORD_SIZE]) {
    size_t length = 0;
    while (rest->length && !isalnum((unsigned char)*rest->data)) {
        rest->data++;
        rest->length--;
    }
    while (rest->length && isalnum((unsigned char)*rest->data)) {
        if (length < WORD_SIZE - 1)
            word[length++] = (char)tolower((unsigned char)*rest->data);
        rest->data++;
        rest->length--;
    }
    word[length] = 0;
    return length > 0;
}

static bool has_word(struct text words, const char *wanted) {
    char word[WORD_SIZE];
    while (next_word(&words, word))
        if (strcmp(word, wanted) == 0)
            return true;
    return false;
}

/* "80gb", "144g" */
static bool is_size(const char *word) {
    size_t digits = strspn(word, "0123456789");
    return digits > 0 && (strcmp(word + digits, "gb") == 0 || strcmp(word + digits, "g") == 0);
}

/* Says nothing about the device's speed that a row would have to contain. */
static bool is_filler(const char *word) {
    static const char *const words[] = {
        "nvidia", "amd",  "intel", "apple", "google",     "tesla", "geforce", "instinct",
        "radeon", "r",    "tm",    "gpu",   "graphics",   "hbm2",  "hbm2e",   "hbm3",
        "hbm3e",  "sxm5", "sxm6",  "oam",   "generation", "vf",    "edition"};
    for (size_t i = 0; i < ARRAY_COUNT(words); i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return is_size(word);
}

/* The number of the row's words, or 0 when it is not this device. */
static unsigned match(const struct published *row, struct text name) {
    struct text of_row = text_of(row->words), of_name = name;
    char word[WORD_SIZE];
    unsigned count = 0;
    for (; next_word(&of_row, word); count++)
        if (!has_word(name, word))
            return 0;
    while (next_word(&of_name, word))
        if (!is_filler(word) && !has_word(text_of(row->words), word))
            return 0;
    return count;
}

const struct published *published_find(struct text name, uint32_t units) {
    const struct published *best = NULL;
    unsigned best_words = 0;
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        unsigned words = match(&rows[i], name);
        if (units && rows[i].units && rows[i].units != units)
            continue;
        if (words > best_words) {
            best = &rows[i];
            best_words = words;
        }
    }
    return best;
}
