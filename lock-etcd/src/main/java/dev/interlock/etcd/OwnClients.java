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
 * connects at once. The old client is closed after its last request, so that the failure of one
 * request breaks no other.
 */
final class OwnClients implements Clients {

  // Limits the attempts to connect to a server that refuses all connections.
  private static final Duration MIN_CLIENT_AGE = Duration.ofMillis(100);

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

  @GuardedBy("this")
  private void replace(Generation old) {
    if (closed || current != old) {
      return;
    }
    current = new Generation(connector.connect(), time.nanoTime());
    old.retired = true;
    old.closeIfUnused();
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

    void closeIfUnused() {
      if (retired && loans == 0) {
        client.close();
      }
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
      synchronized (OwnClients.this) {
        if (answered) {
          generation.answers++;
        }
        generation.loans--;
        generation.closeIfUnused();
      }
    }

    @Override
    public void reportFailure() {
      synchronized (OwnClients.this) {
        if (age() >= MIN_CLIENT_AGE.toNanos()) {
          replace(generation);
        }
      }
    }

    /**
     * Replaces the client if none of its requests was answered since this one was sent. New
     * connections would make a slow server slower. A client that has had no answer yet may still be
     * connecting. Waiting for a login does not count as silence: the server needs long for it, on
     * any connection.
     */
    @Override
    public void reportSilence() {
      synchronized (OwnClients.this) {
        boolean isAnswering =
            generation.answers != answersBefore
                || (login != null && login.mayHaveDelayed(loginsBefore));
        if (!isAnswering && (generation.answers > 0 || age() >= requestTimeout.toNanos())) {
          replace(generation);
        }
      }
    }

    private long age() {
      return time.nanoTime() - generation.since;
    }
  }
}
