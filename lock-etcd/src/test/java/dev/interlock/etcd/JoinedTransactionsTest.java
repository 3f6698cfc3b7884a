package dev.interlock.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.etcd.JoinedTransactions.Answer;
import dev.interlock.etcd.JoinedTransactions.Transaction;
import dev.interlock.spi.DelayedTasks;
import dev.interlock.spi.Share;
import dev.interlock.spi.WakeUp;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KV;
import io.etcd.jetcd.api.KeyValue;
import io.etcd.jetcd.api.RangeResponse;
import io.etcd.jetcd.api.RequestOp;
import io.etcd.jetcd.api.ResponseHeader;
import io.etcd.jetcd.api.ResponseOp;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.TxnImpl;
import io.grpc.Status;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Tests how transactions are joined and answered; the test answers in place of a server. */
class JoinedTransactionsTest {

  private static final ByteSequence VALUE = LockKeys.bytes("value");

  private final Server server = new Server();
  private final Queue<Runnable> later = new ArrayDeque<>();
  private final JoinedTransactions joined = new JoinedTransactions(1, later::add);

  private void aWhilePasses() {
    later.remove().run();
  }

  /** Records the transactions, and answers them on demand. */
  private static final class Server {
    final BlockingQueue<Sent> sent = new LinkedBlockingQueue<>();

    EtcdClient client() {
      KV kv =
          proxy(
              KV.class,
              () ->
                  TxnImpl.newTxn(
                      request -> {
                        Sent one = new Sent(request, new CompletableFuture<>());
                        sent.add(one);
                        return one.answer;
                      },
                      ByteSequence.EMPTY));
      return EtcdClient.of(proxy(Client.class, () -> kv));
    }

    private static <T> T proxy(Class<T> type, java.util.function.Supplier<Object> result) {
      return type.cast(
          Proxy.newProxyInstance(
              type.getClassLoader(),
              new Class<?>[] {type},
              (self, method, arguments) -> result.get()));
    }

    Sent next() throws InterruptedException {
      Sent next = sent.poll(60, TimeUnit.SECONDS);
      assertTrue(next != null, "nothing was sent");
      return next;
    }

    void hasNoMore() {
      assertNull(sent.peek());
    }
  }

  /** A transaction that has been sent. */
  private record Sent(TxnRequest request, CompletableFuture<io.etcd.jetcd.kv.TxnResponse> answer) {

    List<String> puts() {
      return request.getSuccessList().stream()
          .filter(RequestOp::hasRequestPut)
          .map(op -> op.getRequestPut().getKey().toStringUtf8())
          .toList();
    }

    int deletions() {
      return (int)
          request.getSuccessList().stream().filter(RequestOp::hasRequestDeleteRange).count();
    }

    /** Answers each read with a key that is named after the prefix. */
    void succeed(long revision) {
      TxnResponse.Builder response = header(true, revision);
      for (RequestOp op : request.getSuccessList()) {
        if (op.hasRequestRange()) {
          response.addResponses(read(op));
        }
      }
      complete(response);
    }

    void fail() {
      TxnResponse.Builder response = header(false, 1);
      request.getFailureList().forEach(op -> response.addResponses(read(op)));
      complete(response);
    }

    void fail(Status status) {
      answer.completeExceptionally(status.asRuntimeException());
    }

    private static TxnResponse.Builder header(boolean succeeded, long revision) {
      return TxnResponse.newBuilder()
          .setHeader(ResponseHeader.newBuilder().setRevision(revision))
          .setSucceeded(succeeded);
    }

    private static ResponseOp read(RequestOp op) {
      return ResponseOp.newBuilder()
          .setResponseRange(
              RangeResponse.newBuilder()
                  .addKvs(KeyValue.newBuilder().setKey(op.getRequestRange().getKey())))
          .build();
    }

    private void complete(TxnResponse.Builder response) {
      answer.complete(new io.etcd.jetcd.kv.TxnResponse(response.build(), ByteSequence.EMPTY));
    }
  }

  private final EtcdClient client = server.client();

  private CompletableFuture<Answer> enter(String name) {
    return enter(client, name);
  }

  private CompletableFuture<Answer> enter(EtcdClient by, String name) {
    return enter(joined, by, name);
  }

  private static CompletableFuture<Answer> enter(
      JoinedTransactions joined, EtcdClient by, String name) {
    LockKeys keys = LockKeys.of("test", name);
    ByteSequence own = keys.entry(Share.EXCLUSIVE, 1, 0);
    return joined.enter(
        by,
        keys,
        new Transaction(
            List.of(QueueOps.isAbsent(own)),
            List.of(QueueOps.put(own, VALUE, 1), QueueOps.readWithPut(keys, Share.EXCLUSIVE)),
            List.of(QueueOps.get(own))));
  }

  private CompletableFuture<Answer> leave(String name) {
    Session session =
        new Session(
            "test", 1, Duration.ofSeconds(30), 1, new Confirmation(0, Confirmation.BY_CONSENSUS));
    QueueEntry entry = new QueueEntry(Backends.claim(name), session, 0, new WakeUp(Backends.TIME));
    return joined.leave(
        client,
        entry,
        new Transaction(
            List.of(QueueOps.hasCreateRevision(entry.key(), 1)),
            List.of(QueueOps.delete(entry.key())),
            List.of()));
  }

  private static String key(String name) {
    return LockKeys.of("test", name).entry(Share.EXCLUSIVE, 1, 0).toString();
  }

  private static String read(CompletableFuture<Answer> answer) {
    return answer.join().reads().get(0).getKvs().get(0).getKey().toString();
  }

  @Test
  void waitingPartsAreSentTogetherAndGetTheirOwnAnswers() throws Exception {
    CompletableFuture<Answer> first = enter("a");
    Sent alone = server.next();
    CompletableFuture<Answer> second = enter("b");
    CompletableFuture<Answer> third = enter("c");
    server.hasNoMore();
    alone.succeed(5);
    assertTrue(first.join().isSucceeded());
    assertEquals("test/lock/a/", read(first));

    Sent both = server.next();
    assertEquals(List.of(key("b"), key("c")), both.puts());
    assertEquals(2, both.request.getCompareCount());
    both.succeed(7);
    assertEquals("test/lock/b/", read(second));
    assertEquals("test/lock/c/", read(third));
    assertEquals(7, third.join().whole().getHeader().getRevision());

    CompletableFuture<Answer> last = enter("d");
    server.next().fail();
    assertFalse(last.join().isSucceeded());
    assertEquals(key("d"), read(last));
    server.hasNoMore();
  }

  @Test
  void aFewPartsAreSentAlone() throws Exception {
    JoinedTransactions transactions = new JoinedTransactions(new DelayedTasks("test"));
    LockKeys keys = LockKeys.of("test", "transactions");
    Transaction nothing = new Transaction(List.of(), List.of(), List.of());
    var first = transactions.enter(client, keys, nothing);
    var second = transactions.enter(client, keys, nothing);
    server.next().succeed(1);
    server.next().succeed(2);
    assertTrue(first.join().isSucceeded());
    assertTrue(second.join().isSucceeded());
  }

  /** Parts that are sent alone could overtake a waiting part forever. */
  @Test
  void noPartIsSentAloneWhileAnotherWaits() throws Exception {
    JoinedTransactions transactions = new JoinedTransactions(3, later::add);
    var unused =
        List.of(
            enter(transactions, client, "a"),
            enter(transactions, client, "b"),
            enter(transactions, client, "c"));
    List<Sent> alone = List.of(server.next(), server.next(), server.next());
    var waits = enter(transactions, client, "d");
    alone.get(0).succeed(1);
    alone.get(1).succeed(2);
    var later = enter(transactions, client, "e");
    server.hasNoMore();
    alone.get(2).succeed(3);
    Sent both = server.next();
    assertEquals(List.of(key("d"), key("e")), both.puts());
    both.succeed(4);
    assertTrue(waits.join().isSucceeded());
    assertTrue(later.join().isSucceeded());
  }

  /** Both keys would have the same creation revision, which orders the queue. */
  @Test
  void twoKeysOfOneQueueAreNeverPutTogether() throws Exception {
    var first = enter("a");
    Sent alone = server.next();
    var second = enter("b");
    var third = enter("b");
    assertEquals(List.of(key("b")), server.next().puts(), "the third");
    alone.succeed(5);
    aWhilePasses();
    server.hasNoMore(); // It waits for the third, as the first has just been answered.
    aWhilePasses();
    assertEquals(List.of(key("b")), server.next().puts(), "the second");
    assertTrue(first.isDone());
    assertFalse(second.isDone() || third.isDone());
  }

  @Test
  void putsAndDeletesAreNotJoined() throws Exception {
    var unused = List.of(enter("a"), leave("b"));
    Sent put = server.next();
    Sent deletion = server.next();
    var queued = List.of(enter("c"), leave("d"), enter("e"), leave("f"));
    server.hasNoMore();
    put.succeed(5);
    Sent puts = server.next();
    assertEquals(2, puts.puts().size());
    assertEquals(0, puts.deletions());
    deletion.succeed(6);
    Sent deletions = server.next();
    assertEquals(2, deletions.deletions());
    assertEquals(0, deletions.puts().size());
    deletions.succeed(7);
    assertTrue(queued.get(1).join().isSucceeded());
    assertTrue(queued.get(3).join().isSucceeded());
  }

  @Test
  void partsAreSentAloneIfAConditionIsNotMet() throws Exception {
    var first = enter("a");
    Sent alone = server.next();
    var second = enter("b");
    var third = enter("c");
    alone.succeed(5);
    server.next().fail();
    Sent b = server.next();
    Sent c = server.next();
    assertEquals(List.of(key("b")), b.puts());
    b.fail();
    c.succeed(6);
    assertFalse(second.join().isSucceeded());
    assertEquals(key("b"), read(second));
    assertTrue(third.join().isSucceeded());
    assertEquals("test/lock/c/", read(third));
    assertTrue(first.isDone());
  }

  @Test
  void aRefusedPartDoesNotAffectTheOthers() throws Exception {
    var first = enter("a");
    Sent alone = server.next();
    var second = enter("b");
    var third = enter("c");
    alone.succeed(5);
    server.next().fail(Status.PERMISSION_DENIED);
    server.next().fail(Status.PERMISSION_DENIED);
    server.next().succeed(6);
    assertThrows(CompletionException.class, second::join);
    assertTrue(third.join().isSucceeded());
    assertTrue(first.isDone());
  }

  @Test
  void afterABrokenConnectionAllAreInDoubtAndNoneIsRepeated() throws Exception {
    var first = enter("a");
    Sent alone = server.next();
    var second = enter("b");
    var third = enter("c");
    alone.fail(Status.UNAVAILABLE);
    server.next().fail(Status.RESOURCE_EXHAUSTED);
    for (var each : List.of(first, second, third)) {
      assertThrows(CompletionException.class, each::join);
    }
    server.hasNoMore();
    var next = enter("d");
    server.next().succeed(6);
    assertTrue(next.join().isSucceeded());
  }

  @Test
  void anUnansweredTransactionDoesNotBlockOthers() throws Exception {
    var first = enter("a");
    Sent silent = server.next();
    var second = enter("b");
    var third = enter("c");
    server.hasNoMore();
    aWhilePasses();
    Sent both = server.next();
    assertEquals(2, both.puts().size());
    both.succeed(6);
    assertTrue(second.join().isSucceeded());
    assertTrue(third.join().isSucceeded());
    assertFalse(first.isDone());
    silent.succeed(7);
    assertTrue(first.join().isSucceeded());
    var next = enter("d");
    server.next().succeed(8);
    assertTrue(next.join().isSucceeded());
  }

  /** A transaction that a suspended member never answers must not slow down all later ones. */
  @Test
  void anUnansweredTransactionIsAwaitedOnlyOnce() throws Exception {
    var unused = List.of(enter("a"), enter("b"));
    Sent silent = server.next();
    aWhilePasses();
    Sent second = server.next();
    var third = enter("c");
    server.hasNoMore();
    second.succeed(6);
    assertEquals(List.of(key("c")), server.next().puts());
    assertFalse(third.isDone());
    silent.succeed(7);
    server.hasNoMore();
  }

  /** If no thread is free to check the queue, the next part tries again. */
  @Test
  void aLackOfThreadsDelaysOnlyTheWaitingParts() throws Exception {
    boolean[] lacks = {true};
    JoinedTransactions alone =
        new JoinedTransactions(
            1,
            task -> {
              if (lacks[0]) {
                throw new OutOfMemoryError("thrown by a test: unable to create native thread");
              }
              later.add(task);
            });
    var unused = List.of(enter(alone, client, "a"), enter(alone, client, "b"));
    Sent silent = server.next();
    lacks[0] = false;
    var third = enter(alone, client, "c");
    aWhilePasses();
    Sent both = server.next();
    assertEquals(List.of(key("b"), key("c")), both.puts());
    lacks[0] = true;
    var fourth = enter(alone, client, "d");
    aWhilePasses();
    both.succeed(6);
    assertTrue(third.join().isSucceeded());
    server.next().succeed(7);
    assertTrue(fourth.join().isSucceeded());
    silent.succeed(8);
  }

  @Test
  void aLackOfMemoryIsReportedToTheAffectedCallers() throws Exception {
    var first = enter("a");
    Sent alone = server.next();
    List<Cmp> scarce =
        new ArrayList<>() {
          @Override
          public Object[] toArray() {
            throw new OutOfMemoryError("thrown by a test");
          }
        };
    Transaction transaction = new Transaction(scarce, List.of(), List.of());
    var second = joined.enter(client, LockKeys.of("test", "b"), transaction);
    var third = enter("c");
    alone.succeed(5);
    assertTrue(first.join().isSucceeded());
    assertTrue(second.isCompletedExceptionally());
    assertTrue(third.isCompletedExceptionally());
    var fourth = enter("d");
    server.next().succeed(6);
    assertTrue(fourth.join().isSucceeded());
  }

  /** When connections are replaced, requests over the new ones do not wait for the old ones. */
  @Test
  void eachPartIsSentOverItsOwnClient() throws Exception {
    var first = enter("a");
    Sent alone = server.next();
    var second = enter("b");
    Server other = new Server();
    var third = enter(other.client(), "c");
    other.next().succeed(5);
    assertTrue(third.join().isSucceeded());
    alone.succeed(6);
    assertSame(1, server.next().puts().size());
    assertTrue(first.isDone());
    assertFalse(second.isDone());
  }

  @Test
  void aClientThatFailsAtOnceBlocksNothing() {
    Client broken =
        Server.proxy(
            Client.class,
            () -> {
              throw new IllegalStateException("closed");
            });
    for (int i = 0; i < 3; i++) {
      CompletableFuture<Answer> answer = enter(EtcdClient.of(broken), "a");
      assertThrows(CompletionException.class, answer::join);
    }
    assertFalse(enter("b").isDone());
    assertEquals(1, server.sent.size());
  }
}
