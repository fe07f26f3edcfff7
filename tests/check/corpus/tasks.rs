// async by an executor of our own, generators of iterators, trait objects, callbacks of C that unwind, a panic hook, drops.
use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::future::Future;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
struct Yield(bool);
impl Future for Yield {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.0 {
            return Poll::Ready(());
        }
        self.0 = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
struct Nothing;
impl Wake for Nothing {
    fn wake(self: Arc<Self>) {}
}
async fn count(n: u32) -> u32 {
    let mut sum = 0;
    for i in 0..n {
        Yield(false).await;
        sum += i;
    }
    if n == 3 {
        panic!("in a task");
    }
    sum
}
extern "C" {
    fn qsort(base: *mut c_void, count: usize, size: usize, f: extern "C" fn(*const c_void, *const c_void) -> c_int);
}
extern "C" fn compare(a: *const c_void, b: *const c_void) -> c_int {
    unsafe { *(a as *const i32) - *(b as *const i32) }
}
thread_local!(static LOCAL: RefCell<Vec<u32>> = RefCell::new(vec![1]));
struct Told(&'static str);
impl Drop for Told {
    fn drop(&mut self) {
        println!("drop {}", self.0);
    }
}
trait Shape {
    fn area(&self) -> f64;
}
struct Square(f64);
struct Circle(f64);
impl Shape for Square {
    fn area(&self) -> f64 {
        self.0 * self.0
    }
}
impl Shape for Circle {
    fn area(&self) -> f64 {
        3.0 * self.0 * self.0
    }
}
fn deep(n: u32) -> u32 {
    let _told = if n % 10 == 0 { Some(Told("deep")) } else { None };
    if n == 0 {
        resume_unwind(Box::new(5u32));
    }
    deep(n - 1) + 1
}
fn main() {
    std::panic::set_hook(Box::new(|info| println!("hook: {}", info.location().is_some())));
    let waker = Waker::from(Arc::new(Nothing));
    let mut cx = Context::from_waker(&waker);
    let mut tasks: Vec<Pin<Box<dyn Future<Output = u32>>>> = (0..5).map(|n| Box::pin(count(n)) as _).collect();
    while !tasks.is_empty() {
        tasks.retain_mut(|t| match catch_unwind(AssertUnwindSafe(|| t.as_mut().poll(&mut cx))) {
            Ok(Poll::Pending) => true,
            Ok(Poll::Ready(n)) => {
                println!("{n}");
                false
            }
            Err(_) => false,
        });
    }
    let mut list = [5, 3, 9, 1];
    unsafe { qsort(list.as_mut_ptr() as *mut c_void, 4, 4, compare) };
    println!("{list:?}");
    println!("{:?}", catch_unwind(|| deep(30)).unwrap_err().downcast_ref::<u32>());
    std::thread::scope(|s| {
        for i in 0..3 {
            s.spawn(move || LOCAL.with(|l| l.borrow_mut().push(i)));
        }
    });
    let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Square(2.0)), Box::new(Circle(1.0))];
    println!("{}", shapes.iter().map(|s| s.area()).sum::<f64>());
    let r = std::thread::Builder::new().stack_size(1 << 16).spawn(|| -> u32 { panic!("small") }).unwrap().join();
    println!("{}", r.is_err());
}
