package dev.interlock.tck.rules;

import dev.interlock.tck.fault.Disturbance;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.fault.RedisError;
import dev.interlock.tck.fault.RedisErrors;
import java.time.Duration;

/** What stands between a client and the store, and spoils an answer when it is told to. */
interface Spoiler {

  /** Where the client has to go. */
  String uri();

  /** Spoils one answer, on every way to the store, after so many others have passed. */
  Spoil spoil(int earlier);

  /** An answer that is to be spoiled; closed when it need not be any more. */
  interface Spoil extends AutoCloseable {

    /** Waits until it was. */
    boolean awaitHit(Duration limit) throws InterruptedException;

    @Override
    void close();
  }

  /** Cuts the connection instead of letting the answer pass. */
  static Spoiler losing(Network network) {
    return new Spoiler() {
      @Override
      public String uri() {
        return network.uri();
      }

      @Override
      public Spoil spoil(int earlier) {
        Disturbance lost = network.everywhere(proxy -> proxy.loseAnswer(earlier));
        return new Spoil() {
          @Override
          public boolean awaitHit(Duration limit) throws InterruptedException {
            return lost.awaitHit(limit);
          }

          @Override
          public void close() {
            lost.close();
          }
        };
      }

      @Override
      public String toString() {
        return "lost";
      }
    };
  }

  /** Answers by an error, and does not let the request pass. */
  static Spoiler refusing(RedisErrors way, RedisError error, int count) {
    return new Spoiler() {
      @Override
      public String uri() {
        return way.uri();
      }

      @Override
      public Spoil spoil(int earlier) {
        RedisErrors.Spoiled spoiled = way.answer(error, earlier, count);
        return new Spoil() {
          @Override
          public boolean awaitHit(Duration limit) throws InterruptedException {
            return spoiled.awaitHit(limit);
          }

          @Override
          public void close() {
            spoiled.close();
          }
        };
      }

      @Override
      public String toString() {
        return "replaced by " + error;
      }
    };
  }
}
