package main
import ("fmt";"sync";"time";"os";"os/signal";"syscall")
func deep(n int) int { var a [256]int; a[n%256]=n; if n==0 {return 0}; return deep(n-1)+a[n%256]-n+1 }
func rec(i int) (r string) { defer func(){ if x:=recover(); x!=nil { r=fmt.Sprint("rec ",x) } }(); var p *int; if i%2==0 {panic(i)}; return fmt.Sprint(*p) }
func main(){
 var wg sync.WaitGroup; ch:=make(chan int)
 for i:=0;i<20;i++ { wg.Add(1); go func(i int){ defer wg.Done(); ch<-deep(i*50) }(i) }
 go func(){wg.Wait(); close(ch)}()
 s:=0; for v:=range ch { s+=v }
 for i:=0;i<6;i++ { fmt.Println(rec(i)) }
 c:=make(chan os.Signal,1); signal.Notify(c, syscall.SIGUSR1); syscall.Kill(os.Getpid(), syscall.SIGUSR1); fmt.Println(<-c)
 t:=time.NewTimer(10*time.Millisecond); select { case <-t.C: fmt.Println("t") }
 fmt.Println(s)
}
