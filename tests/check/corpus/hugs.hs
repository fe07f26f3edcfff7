import qualified Control.Exception as E
import Control.Concurrent
import Data.IORef
deep :: Int -> Int
deep 0 = error "deep"
deep n = 1 + deep (n - 1)
main :: IO ()
main = do
  r <- E.try (E.evaluate (deep 50)) :: IO (Either E.Exception Int)
  putStrLn (either (const "caught") show r)
  print (sum (takeWhile (< 1000) (filter odd (map (^ 2) [1 ..]))) :: Integer)
  v <- newEmptyMVar
  mapM_ (\n -> forkIO (putMVar v (n * n))) [1 .. 3]
  xs <- mapM (const (takeMVar v)) [1 .. 3]
  print (sum xs)
