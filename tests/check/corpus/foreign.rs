// Foreign functions: asked for by name, given closures, and left by panics.
use std::os::raw::{c_char, c_int, c_void};
use std::panic;

extern "C" {
    fn dlopen(name: *const c_char, how: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn signal(number: c_int, handler: extern "C" fn(c_int)) -> usize;
    fn raise(number: c_int) -> c_int;
    fn atexit(f: extern "C" fn()) -> c_int;
}
type Compare = unsafe extern "C-unwind" fn(*const c_void, *const c_void, *mut c_void) -> c_int;
type Sort = unsafe extern "C-unwind" fn(*mut c_void, usize, usize, Compare, *mut c_void);
type Real = unsafe extern "C" fn(f64) -> f64;

unsafe extern "C-unwind" fn closure<F: FnMut(i32, i32) -> i32>(
    a: *const c_void, b: *const c_void, f: *mut c_void) -> c_int {
    (*(f as *mut F))(*(a as *const i32), *(b as *const i32))
}

fn sorted<F: FnMut(i32, i32) -> i32>(sort: Sort, values: &mut [i32], mut f: F) {
    let given = &mut f as *mut F as *mut c_void;
    unsafe { sort(values.as_mut_ptr() as *mut c_void, values.len(), 4, closure::<F>, given) }
}

struct Noisy(i32);
impl Drop for Noisy {
    fn drop(&mut self) { println!("dropped {}", self.0); }
}

extern "C" fn handler(_: c_int) { println!("signal"); }
extern "C" fn at_exit() { println!("exit"); }

fn main() {
    panic::set_hook(Box::new(|_| {}));
    unsafe {
        let math = dlopen(b"libm.so.6\0".as_ptr() as *const c_char, 2);
        let sine: Real = std::mem::transmute(dlsym(math, b"sin\0".as_ptr() as *const c_char));
        let cosine: Real = std::mem::transmute(dlsym(math, b"cos\0".as_ptr() as *const c_char));
        println!("{} {}", sine(0.0), cosine(0.0));
        let libc = dlopen(b"libc.so.6\0".as_ptr() as *const c_char, 2);
        let sort: Sort = std::mem::transmute(dlsym(libc, b"qsort_r\0".as_ptr() as *const c_char));
        let mut values = [5, 3, 9, 1];
        let mut calls = 0;
        sorted(sort, &mut values, |a, b| { calls += 1; a - b });
        println!("{:?} {}", values, calls > 0);
        let caught = panic::catch_unwind(|| {
            let _outer = Noisy(1);
            sorted(sort, &mut [2, 1], |_, _| { let _inner = Noisy(2); panic!("through C") });
        });
        println!("{}", caught.is_err());
        signal(10, handler);
        raise(10);
        atexit(at_exit);
    }
    let threads: Vec<_> = (0..4).map(|n| std::thread::spawn(move || {
        if n == 3 { panic!("in a thread") }
        n * n
    })).collect();
    for thread in threads { println!("{:?}", thread.join().ok()); }
}
