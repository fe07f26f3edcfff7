{-# LANGUAGE ForeignFunctionInterface #-}
-- C calls Haskell by wrappers that are made at run time, and fails through them.
module Main where
import Control.Exception
import Control.Monad
import Foreign
import Foreign.C

type Compare = Ptr CInt -> Ptr CInt -> IO CInt
foreign import ccall "wrapper" wrap :: Compare -> IO (FunPtr Compare)
foreign import ccall safe "stdlib.h qsort" qsort :: Ptr CInt -> CSize -> CSize -> FunPtr Compare -> IO ()
foreign import ccall "math.h &cos" pcos :: FunPtr (CDouble -> CDouble)
foreign import ccall "dynamic" call :: FunPtr (CDouble -> CDouble) -> CDouble -> CDouble
foreign import ccall unsafe "math.h sin" csin :: CDouble -> CDouble

main :: IO ()
main = do
  f <- wrap (\a b -> liftM2 (\x y -> fromIntegral (fromEnum (compare x y)) - 1) (peek a) (peek b))
  withArrayLen [5, 2, 9, 1] $ \n p -> qsort p (fromIntegral n) 4 f >> peekArray n p >>= print
  freeHaskellFunPtr f
  print (call pcos 0, csin 0)
  allocaBytes 16 $ \p -> poke (castPtr p) (7 :: Word64) >> peek (castPtr p :: Ptr Word8) >>= print
  r <- try (evaluate (call pcos (error "lazy"))) :: IO (Either ErrorCall CDouble)
  putStrLn (either (const "caught") show r)
  fp <- mallocForeignPtrArray 4 :: IO (ForeignPtr CInt)
  withForeignPtr fp $ \p -> pokeArray p [1, 2, 3, 4] >> fmap sum (peekArray 4 p) >>= print
