       IDENTIFICATION DIVISION.
       PROGRAM-ID. report1.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01 N PIC 9(4) VALUE 0.
       01 P USAGE PROCEDURE-POINTER.
       01 T.
          05 E PIC 9(4) OCCURS 5 TIMES.
       PROCEDURE DIVISION.
       MAIN-PART.
           PERFORM ADD-ONE VARYING N FROM 1 BY 1 UNTIL N > 5.
           SORT E DESCENDING KEY E.
           DISPLAY E(1) " " E(5).
           SET P TO ENTRY "inner".
           CALL P.
           CALL "nowhere" ON EXCEPTION DISPLAY "no such program".
           COMPUTE N = 1 / 0 ON SIZE ERROR DISPLAY "size error".
           STOP RUN.
       ADD-ONE.
           COMPUTE E(N) = N * 7.
       END PROGRAM report1.
       IDENTIFICATION DIVISION.
       PROGRAM-ID. inner.
       PROCEDURE DIVISION.
           DISPLAY "inner".
           EXIT PROGRAM.
       END PROGRAM inner.
