//! Generates tokens with web-rwkv and a RWKV v7 model of random weights, which it writes to a file.
//!
//!     rwkv [TOKENS [LAYERS [WIDTH]]]
//!
//! Prints the tokens and a checksum of all logits. Ends with 77 where there is no Vulkan device.
use std::collections::HashMap;

use anyhow::Result;
use half::f16;
use safetensors::{tensor::TensorView, Dtype, SafeTensors};
use web_rwkv::{
    context::ContextBuilder,
    runtime::{
        infer::{Rnn, RnnInput, RnnInputBatch, RnnOption},
        loader::Loader,
        model::{ContextAutoLimits, ModelBuilder},
        v7, TokioRuntime,
    },
};

const HEAD: usize = 64;
const RANK: usize = 32;
const VOCABULARY: usize = 1024;

struct Weights {
    state: u32,
    tensors: HashMap<String, (Vec<usize>, Vec<u8>)>,
}

impl Weights {
    fn add(&mut self, name: String, shape: &[usize], center: f32, scale: f32) {
        let data = (0..shape.iter().product())
            .flat_map(|_| {
                self.state = self.state.wrapping_mul(1664525).wrapping_add(1013904223);
                let uniform = (self.state >> 8) as f32 / (1 << 23) as f32 - 1.0;
                f16::from_f32(center + scale * uniform).to_le_bytes()
            })
            .collect();
        self.tensors.insert(name, (shape.to_vec(), data));
    }

    fn add_norm(&mut self, name: String, width: usize) {
        self.add(format!("{name}.weight"), &[width], 1.0, 0.1);
        self.add(format!("{name}.bias"), &[width], 0.0, 0.1);
    }

    fn add_layer(&mut self, layer: usize, width: usize) {
        let (block, scale) = (format!("blocks.{layer}"), 1.0 / (width as f32).sqrt());
        self.add_norm(format!("{block}.ln1"), width);
        self.add_norm(format!("{block}.ln2"), width);
        self.add_norm(format!("{block}.att.ln_x"), width);
        for name in ["x_r", "x_w", "x_k", "x_v", "x_a", "x_g", "k_k", "k_a", "w0", "a0", "v0"] {
            self.add(format!("{block}.att.{name}"), &[width], 0.5, 0.25);
        }
        for name in ["w", "a", "g", "v"] {
            self.add(format!("{block}.att.{name}1"), &[RANK, width], 0.0, scale);
            self.add(format!("{block}.att.{name}2"), &[width, RANK], 0.0, scale);
        }
        self.add(format!("{block}.att.r_k"), &[width / HEAD, HEAD], 0.0, 0.1);
        for name in ["key", "value", "receptance", "output"] {
            self.add(format!("{block}.att.{name}.weight"), &[width, width], 0.0, scale);
        }
        self.add(format!("{block}.ffn.x_k"), &[width], 0.5, 0.25);
        self.add(format!("{block}.ffn.key.weight"), &[4 * width, width], 0.0, scale);
        self.add(format!("{block}.ffn.value.weight"), &[width, 4 * width], 0.0, scale);
    }
}

fn write_model(path: &std::path::Path, layers: usize, width: usize) -> Result<()> {
    let mut weights = Weights { state: 1, tensors: HashMap::new() };
    weights.add("emb.weight".into(), &[VOCABULARY, width], 0.0, 1.0);
    weights.add("head.weight".into(), &[VOCABULARY, width], 0.0, 0.1);
    weights.add_norm("blocks.0.ln0".into(), width);
    weights.add_norm("ln_out".into(), width);
    (0..layers).for_each(|layer| weights.add_layer(layer, width));
    let views = weights.tensors.iter().map(|(name, (shape, data))| {
        (name, TensorView::new(Dtype::F16, shape.clone(), data).expect("a tensor"))
    });
    safetensors::serialize_to_file(views, None, path)?;
    Ok(())
}

async fn generate(data: &[u8], tokens: usize) -> Result<()> {
    let model = SafeTensors::deserialize(data)?;
    let info = Loader::info(&model)?;
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = wgpu::Backends::VULKAN;
    let instance = wgpu::Instance::new(descriptor);
    let Ok(adapter) = instance.request_adapter(&Default::default()).await else {
        println!("wgpu finds no Vulkan device");
        std::process::exit(77);
    };
    let context = ContextBuilder::new(adapter).auto_limits(&info).build().await?;
    let model = ModelBuilder::new(&context, model).build_v7().await?;
    let runtime = TokioRuntime::<Rnn>::new(v7::Bundle::<f16>::new(model, 1)).await;
    let prompt = RnnInputBatch::new(vec![1u32, 2, 3, 4, 5, 6, 7, 8], RnnOption::Last);
    let mut input = RnnInput::new(vec![prompt], 32);
    let mut checksum = 0u64;
    for _ in 0..tokens {
        let (next, output) = runtime.infer(input).await?;
        input = next;
        let logits = output[0].0.clone().to_vec();
        for logit in &logits {
            checksum = checksum.rotate_left(5) ^ logit.to_bits() as u64;
        }
        let best = logits.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        let token = best.map_or(0, |(index, _)| index as u32);
        input.batches[0].push(token);
        print!("{token} ");
    }
    println!("\nchecksum {checksum:016x}");
    Ok(())
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<usize>());
    let tokens = arguments.next().transpose()?.unwrap_or(16);
    let layers = arguments.next().transpose()?.unwrap_or(4);
    let width = arguments.next().transpose()?.unwrap_or(256);
    let path = std::env::temp_dir().join(format!("rwkv-{}.st", std::process::id()));
    write_model(&path, layers, width)?;
    let data = std::fs::read(&path)?;
    std::fs::remove_file(&path)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(generate(&data, tokens))
}
