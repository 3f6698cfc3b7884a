package dev.interlock.etcd;

import static dev.interlock.etcd.Backends.LONG_TIMEOUT;
import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockOptions;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.fault.NetworkFault;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.etcd.EtcdCluster;
import io.etcd.jetcd.api.AuthenticateResponse;
import io.grpc.CallCredentials;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A login costs the server more than a thousand requests do, so logins must be rare. */
class LoginTest {

  private static final int THREADS = 8;

  @AutoClose
  private static final EtcdCluster etcd = Testbed.etcd().password("secret").forFaults().start();

  private final ExecutorService threads = Executors.newFixedThreadPool(THREADS);
  private final AtomicBoolean over = new AtomicBoolean();
  private final AtomicInteger failures = new AtomicInteger();

  @AfterEach
  void end() {
    over.set(true);
    threads.shutdownNow();
  }

  private void keepBusy(LockClient client) {
    for (int i = 0; i < THREADS; i++) {
      String name = "job-" + i;
      threads.execute(
          () -> {
            while (!over.get()) {
              try {
                client.lock(name).tryAcquire().ifPresent(Lease::release);
              } catch (LockException | IllegalStateException e) {
                // The store is not available, or the test has ended.
                failures.incrementAndGet();
              }
            }
          });
    }
  }

  /** New connections use the known token. */
  @Test
  void aStallCausesNoLogin() throws Exception {
    LockOptions options =
        LONG_TIMEOUT.toBuilder()
            .requestTimeout(Duration.ofSeconds(1))
            .openTimeout(Eventually.LIMIT)
            .build();
    try (FaultProxy proxy = FaultProxy.to("127.0.0.1", etcd.leader().port());
        LockClient client =
            LockClient.open(
                etcd.uri().replaceFirst("@.*", "@127.0.0.1:" + proxy.port()), options)) {
      client.lock("first").acquire().release();
      long logins = Backends.logins(etcd.leader());
      keepBusy(client);
      try (NetworkFault stall = proxy.partition()) {
        long later = proxy.traffic().accepted() + 2;
        Eventually.holds("it connects again", () -> proxy.traffic().accepted() >= later);
        assertTrue(failures.get() > 0, stall::toString);
      }
      client.lock("last").acquire().release();
      assertEquals(logins, Backends.logins(etcd.leader()));
    }
  }

  /** The requests of all threads fail at the same time, and wait for one new token. */
  @Test
  void aServerThatForgetsTheTokenCausesOneLogin() throws Exception {
    try (LockClient client = LockClient.open(etcd.uri(), LONG_TIMEOUT)) {
      keepBusy(client);
      etcd.leader().restart();
      client.lock("last").acquire().release();
      long logins = Backends.logins(etcd.leader());
      // The connection of a login may break while the server starts.
      assertTrue(logins < THREADS / 2, () -> logins + " logins");
    }
  }

  /**
   * The server needs so long for each login that none is answered within the request time-out, and
   * it also finishes logins for which nobody waits.
   */
  @Test
  @Tag("extended")
  void manyClientsThatOpenAtOnceAllLogIn() throws Exception {
    LockOptions options = LockOptions.builder().requestTimeout(Duration.ofSeconds(1)).build();
    ExecutorService openers = Executors.newCachedThreadPool();
    try {
      List<Future<LockClient>> clients = new ArrayList<>();
      for (int i = 0; i < 60; i++) {
        clients.add(openers.submit(() -> LockClient.open(etcd.uri(), options)));
      }
      for (Future<LockClient> client : clients) {
        client.get(60, TimeUnit.SECONDS).close();
      }
    } finally {
      openers.shutdownNow();
    }
  }

  /** A channel that holds every login until the test answers it. */
  private static final class Logins extends Channel {
    final List<CallOptions> options = new ArrayList<>();
    final List<ClientCall.Listener<AuthenticateResponse>> begun = new ArrayList<>();

    @Override
    @SuppressWarnings("unchecked")
    public <Q, A> ClientCall<Q, A> newCall(MethodDescriptor<Q, A> method, CallOptions calls) {
      options.add(calls);
      return new ClientCall<>() {
        @Override
        public void start(Listener<A> listener, Metadata headers) {
          begun.add((Listener<AuthenticateResponse>) listener);
        }

        @Override
        public void request(int messages) {}

        @Override
        public void cancel(@Nullable String message, @Nullable Throwable cause) {}

        @Override
        public void halfClose() {}

        @Override
        public void sendMessage(Q message) {}
      };
    }

    @Override
    public String authority() {
      return "test";
    }

    void answer(String token) {
      begun
          .get(begun.size() - 1)
          .onMessage(AuthenticateResponse.newBuilder().setToken(token).build());
      end(Status.OK);
    }

    void end(Status status) {
      begun.get(begun.size() - 1).onClose(status, new Metadata());
    }

    double secondsOfLast() {
      return requireNonNull(options.get(options.size() - 1).getDeadline())
              .timeRemaining(TimeUnit.MILLISECONDS)
          / 1000.0;
    }
  }

  /** A request that needs the token. */
  private static final class Request extends CallCredentials.MetadataApplier {
    final Login.Credentials credentials;
    @Nullable Object outcome;

    Request(Login login, Channel channel) {
      credentials = login.new Credentials(channel);
      credentials.applyRequestMetadata(null, Runnable::run, this);
    }

    @Override
    public void apply(Metadata headers) {
      outcome = headers.get(Metadata.Key.of("token", Metadata.ASCII_STRING_MARSHALLER));
    }

    @Override
    public void fail(Status status) {
      outcome = status.getCode();
    }
  }

  private final Login login = new Login("me", () -> "secret", Duration.ofSeconds(100));
  private final Logins connection = new Logins();
  private final Logins another = new Logins();

  @Test
  void requestsWaitForOneLoginTogether() {
    long before = login.successes();
    List<Request> requests =
        List.of(
            new Request(login, connection),
            new Request(login, connection),
            new Request(login, another));
    assertTrue(login.mayHaveDelayed(before));
    assertEquals(0, another.begun.size());
    connection.answer("a");
    requests.forEach(request -> assertEquals("a", request.outcome));
    assertEquals("a", new Request(login, another).outcome);
    assertEquals(1, connection.begun.size());
    assertTrue(login.mayHaveDelayed(before));
    assertFalse(login.mayHaveDelayed(login.successes()));
  }

  @Test
  void aTokenThatIsRefusedIsReplacedOnce() {
    Request first = new Request(login, connection);
    connection.answer("a");
    Request second = new Request(login, connection);
    Status refusal = Status.UNAUTHENTICATED.withDescription("etcdserver: invalid auth token");
    first.credentials.onClose(refusal);
    Request third = new Request(login, connection);
    connection.answer("b");
    // This request was sent with the old token.
    second.credentials.onClose(refusal);
    third.credentials.onClose(Status.PERMISSION_DENIED);
    assertEquals("b", third.outcome);
    assertEquals("b", new Request(login, connection).outcome);
    assertEquals(2, connection.begun.size());
  }

  @Test
  void aLoginWithoutAnAnswerFailsItsRequestsAfterALongTime() {
    Request waiting = new Request(login, connection);
    assertEquals(1600, connection.secondsOfLast(), 10);
    connection.end(Status.DEADLINE_EXCEEDED);
    assertEquals(Status.Code.DEADLINE_EXCEEDED, waiting.outcome);
    // Exactly one request reports that this connection is silent, even if the first had timed out
    // earlier.
    assertEquals(Status.Code.DEADLINE_EXCEEDED, new Request(login, connection).outcome);
    assertEquals(1, connection.begun.size());
    var unused = new Request(login, connection);
    assertEquals(2, connection.begun.size());
  }

  @Test
  void requestsOnOtherConnectionsSurviveABrokenLogin() {
    Request broken = new Request(login, connection);
    Request other = new Request(login, another);
    connection.end(Status.UNAVAILABLE);
    assertEquals(Status.Code.UNAVAILABLE, broken.outcome);
    another.answer("a");
    assertEquals("a", other.outcome);
  }

  @Test
  void aPasswordThatCannotBeReadFailsTheRequest() {
    Login unreadable =
        new Login(
            "me",
            () -> {
              throw new LockConfigurationException("no such file");
            },
            Duration.ofSeconds(1));
    for (int i = 0; i < 2; i++) {
      assertEquals(Status.Code.UNAUTHENTICATED, new Request(unreadable, connection).outcome);
    }
  }
}
