// Panics through catch_unwind, dyn traits, closures, iterators, threads, channels, async by hand, C callbacks, statics.
use std::{cell::RefCell, collections::HashMap, future::Future, os::raw::c_int, os::raw::c_void, panic, pin::Pin, rc::Rc, sync::{mpsc, Arc, Condvar, Mutex}, task::{Context, Poll, RawWaker, RawWakerVTable, Waker}, thread};
extern "C" { fn qsort(base: *mut c_void, n: usize, size: usize, f: extern "C" fn(*const c_void, *const c_void) -> c_int); fn atexit(f: extern "C" fn()) -> c_int; }
extern "C" fn order(a: *const c_void, b: *const c_void) -> c_int { unsafe { *(a as *const i32) - *(b as *const i32) } }
extern "C" fn bye() { println!("bye"); }
trait Shape { fn area(&self) -> f64; fn name(&self) -> String { "shape".into() } }
struct Square(f64);
struct Circle(f64);
impl Shape for Square { fn area(&self) -> f64 { self.0 * self.0 } }
impl Shape for Circle { fn area(&self) -> f64 { 3.0 * self.0 } fn name(&self) -> String { "circle".into() } }
struct Guard(i32);
impl Drop for Guard { fn drop(&mut self) { if self.0 == 2 { let _ = panic::catch_unwind(|| panic!("in drop")); } } }
fn deep(n: i32) -> i32 { let _g = Guard(n); if n == 0 { panic!("deep") } deep(n - 1) + 1 }
struct Twice(bool);
impl Future for Twice { type Output = i32; fn poll(mut self: Pin<&mut Self>, c: &mut Context<'_>) -> Poll<i32> { if self.0 { Poll::Ready(7) } else { self.0 = true; c.waker().wake_by_ref(); Poll::Pending } } }
fn raw() -> RawWaker { fn no(_: *const ()) {} fn cl(_: *const ()) -> RawWaker { raw() } static T: RawWakerVTable = RawWakerVTable::new(cl, no, no, no); RawWaker::new(std::ptr::null(), &T) }
async fn sum() -> i32 { Twice(false).await + Twice(false).await }
thread_local! { static LOCAL: RefCell<Vec<i32>> = RefCell::new(vec![]); }
fn main() {
    unsafe { atexit(bye); }
    panic::set_hook(Box::new(|_| {}));
    for i in 0..5 { println!("{}", panic::catch_unwind(|| deep(i * 4)).is_err()); }
    let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Square(2.0)), Box::new(Circle(1.0))];
    for s in &shapes { println!("{} {}", s.name(), s.area()); }
    let mut v = [3, 1, 2];
    unsafe { qsort(v.as_mut_ptr() as *mut c_void, 3, 4, order); }
    println!("{:?}", v);
    let (tx, rx) = mpsc::channel();
    let hs: Vec<_> = (0..4).map(|i| { let tx = tx.clone(); thread::spawn(move || { LOCAL.with(|l| l.borrow_mut().push(i)); if i == 2 { panic!("thread") } tx.send(i).unwrap(); }) }).collect();
    drop(tx);
    println!("{} {}", rx.iter().sum::<i32>(), hs.into_iter().filter_map(|h| h.join().err()).count());
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let p2 = pair.clone();
    let t = thread::spawn(move || { *p2.0.lock().unwrap() = true; p2.1.notify_all(); });
    let mut g = pair.0.lock().unwrap();
    while !*g { g = pair.1.wait(g).unwrap(); }
    drop(g);
    t.join().unwrap();
    let w = unsafe { Waker::from_raw(raw()) };
    let mut c = Context::from_waker(&w);
    let mut f = Box::pin(sum());
    let r = loop { if let Poll::Ready(r) = f.as_mut().poll(&mut c) { break r } };
    let mut memo = HashMap::new();
    fn fib(n: u64, m: &mut HashMap<u64, u64>) -> u64 { if n < 2 { return n } if let Some(&x) = m.get(&n) { return x } let x = fib(n - 1, m) + fib(n - 2, m); m.insert(n, x); x }
    let k: Rc<dyn Fn(i32) -> i32> = Rc::new(move |x| x + r);
    println!("{} {} {}", fib(40, &mut memo), k(1), (1..10).map(|x| k(x)).filter(|x| x % 2 == 0).fold(0, |a, b| a + b));
    println!("{}", std::process::Command::new("echo").arg("child").output().unwrap().stdout.len());
}
