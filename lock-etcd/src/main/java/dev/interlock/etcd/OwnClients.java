package dev.interlock.etcd;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.spi.TimeSource;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Replaces the client when its connections fail.
 *
 * <p>gRPC keeps a silent connection for at least ten seconds, and pauses for up to two minutes
 * after refused connections. Both are too long for a lease that must be renewed. A new client
 * connects at once. The old one is closed after the last of its requests, so that the failure of
 * one request breaks no other.
 */
final class OwnClients implements Clients {

  // Limits the connections to a server that refuses them all.
  private static final Duration SHORTEST_LIFE = Duration.ofMillis(100);

  private final Connector connector;
  private final @Nullable Login login;
  private final Duration requestTimeout;
  private final TimeSource time;

  @GuardedBy("this")
  private Generation current;

  @GuardedBy("this")
  private boolean closed;

  OwnClients(Connector connector, @Nullable Login login, Duration requestTimeout, TimeSource time) {
    this.connector = connector;
    this.login = login;
    this.requestTimeout = requestTimeout;
    this.time = time;
    this.current = new Generation(connector.connect(), time.nanoTime());
  }

  @Override
  public synchronized Loan borrow() {
    current.loans++;
    return new GenerationLoan(current);
  }

  @Override
  public synchronized void failed(Loan loan) {
    if (age(loan) >= SHORTEST_LIFE.toNanos()) {
      replace(loan);
    }
  }

  /**
   * Replaces the client if none of its requests was answered since this one was sent: new
   * connections would make a slow server slower. A client without any answer so far may still be
   * connecting. A login is no silence: it takes the server long, and does not pass with another
   * connection.
   */
  @Override
  public synchronized void silent(Loan loan) {
    GenerationLoan lent = (GenerationLoan) loan;
    boolean heard =
        lent.generation.answers != lent.answersBefore
            || (login != null && login.mayHaveDelayed(lent.loginsBefore));
    if (!heard && (lent.generation.answers > 0 || age(loan) >= requestTimeout.toNanos())) {
      replace(loan);
    }
  }

  private long age(Loan loan) {
    return time.nanoTime() - ((GenerationLoan) loan).generation.since;
  }

  @GuardedBy("this")
  private void replace(Loan loan) {
    if (closed || current != ((GenerationLoan) loan).generation) {
      return;
    }
    Generation old = current;
    current = new Generation(connector.connect(), time.nanoTime());
    old.retired = true;
    closeIfUnused(old);
  }

  private synchronized void giveBack(Generation generation, boolean answered) {
    if (answered) {
      generation.answers++;
    }
    generation.loans--;
    closeIfUnused(generation);
  }

  private static void closeIfUnused(Generation generation) {
    if (generation.retired && generation.loans == 0) {
      generation.client.close();
    }
  }

  @Override
  public void close() {
    synchronized (this) {
      closed = true;
      current.client.close();
    }
    connector.close();
  }

  private static final class Generation {
    final EtcdClient client;
    final long since;
    int loans;
    long answers;
    boolean retired;

    Generation(EtcdClient client, long since) {
      this.client = client;
      this.since = since;
    }
  }

  private final class GenerationLoan implements Loan {
    private final Generation generation;
    private final long answersBefore;
    private final long loginsBefore;

    GenerationLoan(Generation generation) {
      this.generation = generation;
      this.answersBefore = generation.answers;
      this.loginsBefore = login == null ? 0 : login.successes();
    }

    @Override
    public EtcdClient client() {
      return generation.client;
    }

    @Override
    public void giveBack(boolean answered) {
      OwnClients.this.giveBack(generation, answered);
    }
  }
}
