Require Import Arith List.
Fixpoint fib (n : nat) : nat := match n with 0 => 1 | 1 => 1 | S (S m as k) => fib k + fib m end.
Eval vm_compute in fib 15.
Eval compute in map fib (seq 0 8).
Lemma plus_comm' : forall a b, a + b = b + a. Proof. intros; apply Nat.add_comm. Qed.
Goal True. Proof. first [fail 0 | trivial]. Qed.
