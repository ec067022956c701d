// Rust's zvariant on six of the bench's messages: built and serialized as GVariant bytes. Prints rows as bench-variant
// does.
#![allow(deprecated)] // GVariant goes into a crate of its own with zvariant 6

use std::collections::HashMap;
use std::hint::black_box;

use serde::Serialize;
use zvariant::{serialized::Context, to_bytes, DynamicType, Type, Value, LE};

const WORDS: [&str; 20] = [
    "org.freedesktop.IBus", "alpha", "beta with a tail", "a longer string of text", "gamma-gamma", "delta airlines",
    "epsilon delta", "zeta functions", "eta carinae", "theta theta", "iota subscript", "kappa", "lambda calculus", "mu",
    "nu and xi together", "omikron persei 8", "pi", "rho/sigma/tau/ypsilon", "phi chi psi omega", "the last one of them",
];

#[derive(Serialize, Type)]
struct Engine<'a> {
    name: &'a str, long_name: &'a str, description: &'a str, language: &'a str, license: &'a str, author: &'a str,
    icon: &'a str, layout: &'a str, rank: u32, hotkeys: &'a str, symbol: &'a str, setup: &'a str, version: &'a str,
}

fn cpu_ns() -> f64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut now) };
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}

// The least of twelve batches of at least 2 ms each, as measure.h does.
fn measure<F: FnMut()>(rows: &mut Vec<String>, case: &str, mut act: F) {
    act();
    let (mut count, mut least, mut batch) = (1u64, f64::MAX, 0);
    while batch < 12 {
        let begin = cpu_ns();
        for _ in 0..count {
            act();
        }
        let taken = cpu_ns() - begin;
        if taken < 2e6 {
            count *= 2;
            continue;
        }
        least = least.min(taken / count as f64);
        batch += 1;
    }
    rows.push(format!(
        "{{\"case\": \"{case}/build\", \"subject\": \"zvariant\", \"metric\": \"time\", \"value\": {least:.6}, \"unit\": \"ns\"}}"
    ));
}

fn write<T: Serialize + DynamicType>(value: &T) {
    let context = Context::new_gvariant(LE, 0);
    black_box(to_bytes(context, value).expect("a value"));
}

fn settings() -> HashMap<&'static str, Value<'static>> {
    HashMap::from([
        ("name", Value::from("settings")), ("size", Value::from(black_box(1024u32))), ("enabled", Value::from(true)),
        ("ratio", Value::from(black_box(0.75f64))), ("offset", Value::from(-7i64)),
        ("title", Value::from("A title of some length")), ("count", Value::from(8i32)), ("level", Value::from(3u8)),
    ])
}

fn group(name: &'static str, number: u32) -> (&'static str, HashMap<&'static str, Value<'static>>) {
    let members = HashMap::from([
        ("enabled", Value::from(true)), ("name", Value::from(name)), ("count", Value::from(number)),
        ("ratio", Value::from(0.5f64)), ("limit", Value::from(1000i64)),
    ]);
    (name, members)
}

fn main() {
    let mut rows = Vec::new();
    measure(&mut rows, "a_rect_new", || write(&black_box((10i32, 20i32, 640i32, 480i32))));
    measure(&mut rows, "b_vardict8", || write(&settings()));
    measure(&mut rows, "c_as20_strv", || write(&black_box(&WORDS[..])));
    measure(&mut rows, "d_ibus_keyev", || write(&black_box((0x61u32, 38u32, 0u32))));
    measure(&mut rows, "d_ibus_enginedesc", || {
        write(&black_box(Engine {
            name: "xkb:us::eng", long_name: "English (US)", description: "English (US) keyboard layout", language: "en",
            license: "GPL", author: "Peng Huang <shawn.p.huang@gmail.com>", icon: "ibus-keyboard", layout: "us", rank: 50,
            hotkeys: "", symbol: "EN", setup: "/usr/libexec/ibus-setup", version: "1.5.29",
        }))
    });
    measure(&mut rows, "e_nested3x5", || write(&vec![group("general", 0), group("panel", 1), group("hotkeys", 2)]));
    println!("[\n{}\n]", rows.join(",\n"));
}
