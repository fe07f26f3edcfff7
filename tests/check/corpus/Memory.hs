{-# LANGUAGE ScopedTypeVariables #-}
-- STM, MVars, asynchronous exceptions, unsafePerformIO, weak pointers, laziness that fails, typeclasses by dictionaries.
module Main where
import Control.Concurrent
import Control.Concurrent.MVar
import Control.Exception
import Control.Monad
import Data.IORef
import Data.List (sort, foldl')
import qualified Data.Map as M
import GHC.Conc
import System.IO.Unsafe (unsafePerformIO, unsafeInterleaveIO)
import System.Mem
import System.Timeout

counter :: IORef Int
counter = unsafePerformIO (newIORef 0)
{-# NOINLINE counter #-}

transfer :: TVar Int -> TVar Int -> Int -> STM ()
transfer a b n = do
  x <- readTVar a
  when (x < n) retry
  writeTVar a (x - n)
  readTVar b >>= writeTVar b . (+ n)

main :: IO ()
main = do
  a <- newTVarIO 0
  b <- newTVarIO 0
  done <- newEmptyMVar
  forM_ [1 .. 4] $ \i -> forkIO (atomically (transfer a b i) >> putMVar done ())
  atomically (writeTVar a 10)
  replicateM_ 4 (takeMVar done)
  readTVarIO b >>= print
  t <- forkIO (threadDelay 10000000 `catch` \(e :: AsyncException) -> print e >> putMVar done ())
  yield
  killThread t
  takeMVar done
  r <- try (evaluate (foldl' (+) 0 [1 .. 1000] `div` 0)) :: IO (Either ArithException Int)
  print r
  r2 <- try (evaluate (head (drop 3 [1, 2 :: Int]))) :: IO (Either ErrorCall Int)
  putStrLn (either (const "empty") show r2)
  (timeout 1000 (forever yield) :: IO (Maybe ())) >>= print
  m <- newEmptyMVar :: IO (MVar ())
  r3 <- try (takeMVar m) :: IO (Either BlockedIndefinitelyOnMVar ())
  print r3
  xs <- unsafeInterleaveIO (modifyIORef counter (+ 1) >> return [1 :: Int ..])
  print (take 3 xs)
  readIORef counter >>= print
  performGC
  print (M.foldr (+) 0 (M.fromListWith (+) [(x `mod` 7, x) | x <- [1 .. 1000 :: Int]]))
  print (sum (sort (map (\x -> x * 7919 `mod` 1009) [1 .. 500 :: Int])))
  (do { _ <- evaluate (length [1 .. (10 :: Int)]); throwIO (userError "u") } `catch` \(e :: IOException) -> print e) `finally` putStrLn "finally"
  let fibs = 0 : 1 : zipWith (+) fibs (tail fibs) :: [Integer]
  print (fibs !! 200)
