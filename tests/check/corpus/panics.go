package main
import ("fmt";"runtime";"sync";"strings";"sort";"errors")
type T struct{ n int }
func (t *T) m(x int) (err error) { defer func(){ if r:=recover(); r!=nil { err=fmt.Errorf("r %v", r) } }(); if x>2 { panic("deep") }; defer func(){ t.n++ }(); return t.m(x+1) }
func loop() { for i:=0;i<3;i++ { defer func(i int){ recover() }(i) }; panic("x") }
func main(){
 runtime.GOMAXPROCS(4)
 t:=&T{}; for i:=0;i<5;i++ { fmt.Println(t.m(i)) }
 loop()
 var wg sync.WaitGroup; var mu sync.Mutex; m:=map[string]int{}
 for g:=0; g<50; g++ { wg.Add(1); go func(g int){ defer wg.Done(); for i:=0;i<100;i++ { mu.Lock(); m[strings.Repeat("a",i%7)]+=g; mu.Unlock(); runtime.Gosched() } }(g) }
 done:=make(chan bool); go func(){ x:=0; for i:=0;i<30000000;i++ { x+=i }; fmt.Println(x); close(done) }()
 wg.Wait(); <-done
 ks:=[]string{}; for k:=range m { ks=append(ks,k) }; sort.Strings(ks); fmt.Println(len(ks), m)
 go func(){ defer fmt.Println("gexit"); runtime.Goexit() }()
 runtime.GC(); runtime.Gosched(); fmt.Println(errors.Is(fmt.Errorf("w %w", errors.New("a")), nil))
}
