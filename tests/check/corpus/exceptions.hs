import Control.Exception
import Control.Concurrent
import qualified Data.Map as M
import System.IO
main = do
  print (M.toList (M.fromListWith (+) [(x `mod` 7, x) | x <- [1..100::Int]]))
  r <- try (evaluate (1 `div` (0::Int))) :: IO (Either ArithException Int)
  print r
  r2 <- try (evaluate (head [])) :: IO (Either SomeException Int)
  putStrLn (either (const "err") show r2)
  mv <- newEmptyMVar
  mapM_ (\i -> forkIO (putMVar mv (sum [1..i*100]))) [1..5::Int]
  xs <- mapM (const (takeMVar mv)) [1..5]
  print (sum xs)
  print (foldl (\a b -> a*b `mod` 1000003) 1 [1..2000::Integer])
