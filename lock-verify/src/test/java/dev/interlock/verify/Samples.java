package dev.interlock.verify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Suites to be run by the tests of the runner, and by nothing else. */
final class Samples {
  private Samples() {}

  static final class Mixed {
    @Test
    void passes() {
      System.out.print("no end of line, a tab\t, and a backslash \\");
    }

    @Test
    void fails() {
      assertEquals("one\ntwo\tthree\\four", "five");
    }

    @Test
    void isAborted() {
      assumeTrue(false, "there is no moon");
    }

    @Test
    @Disabled("not on Sundays")
    void isDisabled() {
      fail();
    }

    @Test
    void doesNotApply() {
      throw new NotApplicableException();
    }

    @Test
    @Tag("extended")
    void isExtended() {
      fail();
    }

    @Nested
    final class Inner {
      @Test
      void passes() {
        // nothing to be done
      }
    }
  }

  /** As the kit's exception of that name. */
  static final class NotApplicableException extends org.opentest4j.TestAbortedException {
    private static final long serialVersionUID = 1L;

    NotApplicableException() {
      super("there is no such thing here");
    }
  }

  static final class CannotBegin {
    @BeforeAll
    static void begin() {
      throw new IllegalStateException("no server");
    }

    @Test
    void passes() {
      // never reached
    }
  }

  static final class EndsTheJvm {
    @Test
    void exits() {
      System.exit(3);
    }
  }

  abstract static class Halves {
    @Test
    void one() {}

    @Test
    void two() {}

    @Nested
    final class Inner {
      @Test
      void three() {}

      @Test
      void four() {}
    }
  }

  static final class FirstHalf extends Halves {
    @RegisterExtension static final HalfOfTests SAMPLE = HalfOfTests.first("key");
  }

  static final class SecondHalf extends Halves {
    @RegisterExtension static final HalfOfTests SAMPLE = HalfOfTests.second("key");
  }

  static final class OnlyExtended {
    @Test
    @Tag("extended")
    void passes() {
      // nothing to be done
    }
  }

  static final class Passes {
    @Test
    void passes() {
      // nothing to be done
    }
  }
}
