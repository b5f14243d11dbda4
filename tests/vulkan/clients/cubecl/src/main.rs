//! Layers of matrix-vector products and an activation on CubeCL, the kernel language of Burn, with its wgpu
//! runtime.
//!
//!     cubecl-program [STEPS]
//!
//! Prints the number of its launches and a checksum of its results.
use cubecl::prelude::*;
use cubecl::wgpu::{WgpuDevice, WgpuRuntime};

const WIDTH: usize = 256;
const LAYERS: usize = 5;
const UNITS: usize = 64;

#[cube(launch)]
fn matvec(weights: &Array<f32>, x: &Array<f32>, y: &mut Array<f32>) {
    let row = ABSOLUTE_POS;
    if row < y.len() {
        let mut sum = 0.0f32;
        for column in 0..x.len() {
            sum += weights[row * x.len() + column] * x[column];
        }
        y[row] = sum;
    }
}

#[cube(launch)]
fn squash(x: &Array<f32>, y: &mut Array<f32>) {
    if ABSOLUTE_POS < y.len() {
        y[ABSOLUTE_POS] = x[ABSOLUTE_POS] / (1.0f32 + f32::abs(x[ABSOLUTE_POS]));
    }
}

fn random(state: &mut u32, count: usize) -> Vec<f32> {
    let mut next = || {
        *state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        (*state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn main() {
    let steps = std::env::args().nth(1).map_or(10, |text| text.parse().expect("a number of steps"));
    let client = WgpuRuntime::client(&WgpuDevice::default());
    let mut state = 1;
    let mut create = |count| client.create_from_slice(f32::as_bytes(&random(&mut state, count)));
    let weights: Vec<_> = (0..LAYERS).map(|_| create(WIDTH * WIDTH)).collect();
    let (x, y) = (create(WIDTH), create(WIDTH));
    let argument = |handle: &cubecl::server::Handle, count| unsafe {
        ArrayArg::from_raw_parts(handle.clone(), count)
    };
    let (cubes, units) = (CubeCount::Static((WIDTH / UNITS) as u32, 1, 1), CubeDim::new_1d(UNITS as u32));
    let (mut launches, mut checksum) = (0, 0u64);
    for _ in 0..steps {
        for layer in &weights {
            let (from, to) = (argument(&x, WIDTH), argument(&y, WIDTH));
            matvec::launch::<WgpuRuntime>(
                &client,
                cubes.clone(),
                units,
                argument(layer, WIDTH * WIDTH),
                from,
                to,
            );
            let (from, to) = (argument(&y, WIDTH), argument(&x, WIDTH));
            squash::launch::<WgpuRuntime>(&client, cubes.clone(), units, from, to);
            launches += 2;
        }
        let bytes = client.read_one(x.clone()).expect("the results");
        for value in f32::from_bytes(&bytes) {
            checksum = checksum.rotate_left(5) ^ value.to_bits() as u64;
        }
    }
    println!("count dispatches {launches}\nchecksum {checksum:016x}");
}
