//! Two layers of a perceptron in burn on wgpu, with numbers that are the same on every machine.
//!
//!     burn_program [STEPS]
//!
//! Prints a checksum of the results of all steps.
use burn::prelude::*;

const ROWS: usize = 16;
const WIDTH: usize = 64;

struct Numbers(u32);

impl Numbers {
    fn matrix(&mut self, rows: usize, columns: usize, device: &Device) -> Tensor<2> {
        let values: Vec<f32> = (0..rows * columns)
            .map(|_| {
                self.0 = self.0.wrapping_mul(1664525).wrapping_add(1013904223);
                ((self.0 >> 8) as f32 / (1 << 23) as f32 - 1.0) * 0.2
            })
            .collect();
        Tensor::from_data(TensorData::new(values, [rows, columns]), device)
    }
}

fn main() {
    let steps = std::env::args().nth(1).map_or(5, |text| text.parse().expect("a number of steps"));
    let device = Device::wgpu(Default::default());
    let mut numbers = Numbers(1);
    let up = numbers.matrix(WIDTH, 2 * WIDTH, &device);
    let down = numbers.matrix(2 * WIDTH, WIDTH, &device);
    let mut x = numbers.matrix(ROWS, WIDTH, &device);
    let mut checksum = 0u64;
    for _ in 0..steps {
        let hidden = burn::tensor::activation::gelu(x.clone().matmul(up.clone()));
        x = burn::tensor::activation::softmax(hidden.matmul(down.clone()) + x, 1);
        for value in x.to_data().try_to_vec::<f32>().expect("numbers") {
            checksum = checksum.rotate_left(5) ^ value.to_bits() as u64;
        }
    }
    println!("checksum {checksum:016x}");
}
