use std::thread; use std::sync::mpsc;
fn main(){
 let (tx,rx)=mpsc::channel(); let mut h=vec![];
 for i in 0..4 { let tx=tx.clone(); h.push(thread::spawn(move|| { tx.send(i).unwrap(); if i==2 {panic!("x")} i })); }
 drop(tx); for v in rx {println!("{}",v);} for x in h { println!("{:?}", x.join().is_ok()); }
 let r=std::panic::catch_unwind(||{ let v:Vec<i32>=vec![]; v[1] }); println!("{}", r.is_err());
}
