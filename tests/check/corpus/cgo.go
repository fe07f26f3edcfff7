// C calls Go calls C, panics through it, and signals.
package main

/*
#include <stdlib.h>
#include <signal.h>
extern int compare(void*, void*);
static int less(const void* a, const void* b) { return compare((void*)a, (void*)b); }
static void sort(int* list, int n) { qsort(list, n, sizeof *list, less); }
extern void again(int);
static void down(int n) { again(n); }
static void interrupt() { raise(SIGUSR1); }
*/
import "C"

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"unsafe"
)

//export compare
func compare(a, b unsafe.Pointer) C.int { return *(*C.int)(a) - *(*C.int)(b) }

//export again
func again(n C.int) {
	if n == 0 {
		runtime.GC()
		return
	}
	if n == 77 {
		panic("through C")
	}
	C.down(n - 1)
}

func main() {
	list := []C.int{5, 2, 9, 1}
	C.sort(&list[0], 4)
	fmt.Println(list)
	again(5)
	func() {
		defer func() { fmt.Println(recover()) }()
		C.down(77)
	}()
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	C.interrupt()
	fmt.Println(<-c)
	done := make(chan int)
	for i := 0; i < 8; i++ {
		go func(i int) { C.down(C.int(i)); done <- i }(i)
	}
	sum := 0
	for i := 0; i < 8; i++ {
		sum += <-done
	}
	fmt.Println(sum)
}
