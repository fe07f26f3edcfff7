require "open3"
require "socket"
require "timeout"
queue = Queue.new
threads = 3.times.map do
  Thread.new do
    while (x = queue.pop) != :end
      begin
        raise "odd #{x}" if x.odd?
      rescue StandardError
        x
      end
    end
  end
end
20.times { |i| queue << i }
3.times { queue << :end }
threads.each(&:join)
server = TCPServer.new("127.0.0.1", 0)
client = Thread.new { TCPSocket.new("127.0.0.1", server.addr[1]).tap { |s| s.puts "hi"; s.close } }
p server.accept.gets
client.join
p Open3.capture2("cat", stdin_data: "x")[0]
sleeper = Thread.new do
  begin
    sleep
  ensure
    p :ensured
  end
end
sleep 0.02
sleeper.raise("async")
sleeper.join rescue p $!.message
begin
  Timeout.timeout(0.05) { loop {} }
rescue Timeout::Error
  p :timeout
end
p Process.wait2(fork { exit 3 })[1].exitstatus
def endless(n) = endless(n + 1)
begin
  endless(0)
rescue SystemStackError
  p :deep
end
