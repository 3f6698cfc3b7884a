package dev.interlock.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockEvent;
import dev.interlock.LockOptions;
import dev.interlock.LockTimeoutException;
import dev.interlock.LossReason;
import dev.interlock.MultiLease;
import dev.interlock.spring.Locked.Mode;
import dev.interlock.spring.Locked.WhenBusy;
import dev.interlock.spring.Locked.WhenLost;
import dev.interlock.testbed.Eventually;
import dev.interlock.testing.TestStore;
import java.io.IOException;
import java.math.BigDecimal;
import java.net.InetAddress;
import java.time.Duration;
import java.util.Arrays;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TimeZone;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;
import org.springframework.core.env.MapPropertySource;
import org.springframework.http.ResponseEntity;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.web.servlet.mvc.method.annotation.StreamingResponseBody;

class LockedTest {

  @Configuration
  @EnableLocked
  @EnableAsync
  static class Application {
    @Bean
    TestStore store() {
      return new TestStore();
    }

    @Bean
    LockClient shared() {
      return LockClient.open("memory:locked-test");
    }

    @Bean
    @Primary
    LockClient client(TestStore store) {
      return store.open(LockOptions.builder().ttl(Duration.ofSeconds(10)).build());
    }

    @Bean
    Names names() {
      return new Names();
    }

    @Bean
    Orders orders() {
      return new Orders();
    }

    @Bean
    Warehouse warehouse(Orders orders) {
      return new Warehouse(orders);
    }
  }

  static class Names {
    public String of(long id) {
      return "bean-" + id;
    }
  }

  enum Size {
    SMALL
  }

  static class Orders {
    private final AtomicInteger runs = new AtomicInteger();

    public int runs() { // a proxy has no fields
      return runs.get();
    }

    public String getRegion() {
      return "eu";
    }

    private static String lock() {
      return CurrentLease.get().name();
    }

    @Locked("orders")
    public String literal() {
      return lock();
    }

    @Locked("order-#{#id}/#{#size}")
    public String template(long id, Size size) {
      return lock();
    }

    @Locked(expression = "'order-' + #id")
    public String expression(@Nullable UUID id) {
      return lock();
    }

    @Locked(expression = "#text == '' ? 'none' : (#text ?: 'no-' + #id) + '-' + #id")
    public String concatenation(@Nullable Object text, @Nullable Object id) {
      return lock();
    }

    @Locked("#{#a0}-#{#p1}")
    public String positions(long id, String other) {
      return lock();
    }

    @Locked("#{@names.of(#id)}-#{region}-#{#root.region}")
    public String beanAndRoot(long id) {
      return lock();
    }

    @Locked("${prefix}-#{#id}")
    public String placeholder(long id) {
      return lock();
    }

    @Locked("text-#{#text}")
    public String text(@Nullable Object text) {
      return lock();
    }

    @Locked({"from-#{#from}", "to-#{#to}"})
    public List<String> transfer(String from, String to) {
      return assertInstanceOf(MultiLease.class, CurrentLease.get()).names();
    }

    @Locked(value = "busy", waitFor = "0")
    public void once() {
      runs.incrementAndGet();
    }

    @Locked(value = "busy", waitFor = "1m")
    public void waits() {
      runs.incrementAndGet();
    }

    @Locked(value = "busy", whenBusy = WhenBusy.SKIP)
    public void skips() {
      runs.incrementAndGet();
    }

    @Locked(value = "busy", whenBusy = WhenBusy.SKIP)
    public Optional<String> skipsOptional() {
      return Optional.of("ran");
    }

    @Locked(value = "busy", whenBusy = WhenBusy.SKIP)
    public @Nullable String skipsNullable() {
      return "ran";
    }

    @Locked("busy")
    public void waitsForever() {
      runs.incrementAndGet();
    }

    @Locked("busy")
    public void waitsInterruptibly() throws InterruptedException {
      runs.incrementAndGet();
    }

    @Locked("failing")
    public void fails() throws IOException {
      throw new IOException("disk full");
    }

    @Locked(value = "catalog", client = "shared", mode = Mode.READ)
    public <T> T read(Callable<T> work) throws Exception {
      return work.call();
    }

    @Locked(value = "catalog", client = "shared", mode = Mode.WRITE)
    public <T> T write(Callable<T> work) throws Exception {
      return work.call();
    }

    @Locked("long")
    public void interrupted(CountDownLatch started) throws InterruptedException {
      started.countDown();
      new CountDownLatch(1).await();
    }

    @Locked(value = "long", whenLost = WhenLost.FINISH)
    public void finishes(CountDownLatch started, boolean fail) {
      started.countDown();
      LeaseLostException unused = CurrentLease.get().onLoss().join();
      runs.incrementAndGet();
      if (fail) {
        throw new IllegalArgumentException("bad order");
      }
    }

    @Locked("same")
    public Lease inner() {
      return CurrentLease.get();
    }

    @Locked(value = "same", minHold = "30s")
    public void atLeast() {
      runs.incrementAndGet();
    }

    @Locked(value = "same", maxHold = "30s")
    public void atMost() {
      runs.incrementAndGet();
    }

    @Locked(value = "same", maxHold = "10s")
    public <T> T shorter(Callable<T> work) throws Exception {
      return work.call();
    }

    @Locked({"same", "other"})
    public Lease more() {
      return CurrentLease.get();
    }

    @Locked("same")
    public <T> T one(Callable<T> work) throws Exception {
      return work.call();
    }

    @Locked({"same", "other"})
    public <T> T all(Callable<T> work) throws Exception {
      return work.call();
    }

    public boolean unlockedFromInside() {
      return CurrentLease.find().isPresent() || callsItself();
    }

    @Locked("self")
    public boolean callsItself() {
      return CurrentLease.find().isPresent();
    }

    @Async
    @Locked("async")
    public void inBackground(CompletableFuture<String> name) {
      name.complete(CurrentLease.get().name() + " " + CurrentLease.get().isHeld());
    }
  }

  static class Warehouse {
    private final Orders orders;

    Warehouse(Orders orders) {
      this.orders = orders;
    }

    @Locked("same")
    public boolean joins() {
      Lease mine = CurrentLease.get();
      return orders.inner() == mine && CurrentLease.get() == mine && mine.isHeld();
    }

    @Locked("same")
    public void asksForMore() {
      orders.more();
    }

    @Locked(value = "catalog", client = "shared", mode = Mode.WRITE)
    public boolean readsWhileItWrites() throws Exception {
      return orders.read(() -> CurrentLease.get().isHeld());
    }
  }

  private final AnnotationConfigApplicationContext context =
      new AnnotationConfigApplicationContext();
  private Orders orders;
  private TestStore store;
  private LockClient other;
  private LockClient otherShared;

  @BeforeEach
  void start() {
    context
        .getEnvironment()
        .getPropertySources()
        .addFirst(new MapPropertySource("test", Map.of("prefix", "p")));
    context.register(Application.class);
    context.refresh();
    orders = context.getBean(Orders.class);
    store = context.getBean(TestStore.class);
    other = store.open();
    otherShared = LockClient.open("memory:locked-test");
  }

  @AfterEach
  void stop() {
    other.close();
    otherShared.close();
    context.close();
  }

  private CompletableFuture<Void> inThread(Callable<?> work) {
    CompletableFuture<Void> end = new CompletableFuture<>();
    Thread thread =
        new Thread(
            () -> {
              try {
                work.call();
                end.complete(null);
              } catch (Throwable e) {
                end.completeExceptionally(e);
              }
            });
    thread.setDaemon(true);
    thread.start();
    return end;
  }

  private static Throwable failureOf(CompletableFuture<?> future) {
    return assertThrows(ExecutionException.class, () -> future.get(1, TimeUnit.MINUTES)).getCause();
  }

  @Test
  void aNameIsTextOrAnExpression() {
    assertEquals("orders", orders.literal());
    assertEquals("order-7/SMALL", orders.template(7, Size.SMALL));
    UUID id = UUID.randomUUID();
    assertEquals("order-" + id, orders.expression(id));
    assertEquals("7-x", orders.positions(7, "x"));
    assertEquals("bean-7-eu-eu", orders.beanAndRoot(7));
    assertEquals("p-7", orders.placeholder(7));
  }

  @Test
  @SuppressWarnings("JavaUtilDate") // programs still have it
  void aNameWithoutASimpleValueIsRefusedBeforeTheStoreIsAsked() {
    store.goDown();
    IllegalArgumentException ofNull =
        assertThrows(IllegalArgumentException.class, () -> orders.text(null));
    assertTrue(ofNull.getMessage().contains("#text is null"), ofNull.getMessage());
    IllegalArgumentException ofObject =
        assertThrows(IllegalArgumentException.class, () -> orders.text(List.of("a")));
    assertTrue(ofObject.getMessage().contains("Orders.text(Object)"), ofObject.getMessage());
    IllegalArgumentException ofDate =
        assertThrows(IllegalArgumentException.class, () -> orders.text(new Date(0)));
    assertTrue(ofDate.getMessage().contains("time zone"), ofDate.getMessage());
  }

  @Test
  @SuppressWarnings("JavaUtilDate")
  void aConcatenationWithoutASimpleValueIsRefused() {
    assertEquals("a-7", orders.concatenation("a", 7));
    assertEquals("none", orders.concatenation("", null));
    assertEquals("no-7-7", orders.concatenation(null, 7));
    store.goDown();
    for (Object part : Arrays.asList(null, new Date(0), 0.1, List.of("a"))) {
      IllegalArgumentException refusal =
          assertThrows(IllegalArgumentException.class, () -> orders.concatenation("a", part));
      assertTrue(refusal.getMessage().contains("the expression #id "), refusal.getMessage());
    }
    assertThrows(IllegalArgumentException.class, () -> orders.expression(null));
  }

  @Test
  void aValueWhoseTextDiffersBetweenJvmsIsRefused() throws Exception {
    // Since Java 19 the texts of some doubles are shorter.
    for (Object value :
        List.of(
            0.1,
            1.5f,
            TimeZone.getTimeZone("Europe/Berlin"),
            InetAddress.getByAddress(new byte[] {127, 0, 0, 1}))) {
      IllegalArgumentException refusal =
          assertThrows(IllegalArgumentException.class, () -> orders.text(value));
      assertTrue(refusal.getMessage().contains("depends on"), refusal.getMessage());
    }
    assertEquals("text-0.10", orders.text(new BigDecimal("0.10")));
  }

  @Test
  void theLockIsHeldDuringTheCallAndFreeAfterIt() throws Exception {
    assertTrue(orders.write(() -> otherShared.admin().inspect("catalog").isHeld()));
    assertFalse(otherShared.admin().inspect("catalog").isHeld());
    assertTrue(CurrentLease.find().isEmpty());
  }

  @Test
  void anExceptionOfTheMethodIsThrownAndTheLockIsFree() {
    assertEquals("disk full", assertThrows(IOException.class, orders::fails).getMessage());
    assertFalse(other.admin().inspect("failing").isHeld());
    assertTrue(CurrentLease.find().isEmpty());
  }

  @Test
  void aBusyLockCausesAnExceptionOrSkipsTheCall() throws Exception {
    try (Lease held = other.lock("busy").acquire()) {
      assertEquals("busy", held.name());
      LockTimeoutException busy = assertThrows(LockTimeoutException.class, orders::once);
      assertEquals("busy", busy.name());
      orders.skips();
      assertEquals(Optional.empty(), orders.skipsOptional());
      assertNull(orders.skipsNullable());
      assertEquals(0, orders.runs());
    }
    orders.once();
    orders.skips();
    assertEquals(Optional.of("ran"), orders.skipsOptional());
    assertEquals("ran", orders.skipsNullable());
    assertEquals(2, orders.runs());
  }

  @Test
  void aCallWaitsForTheLock() throws Exception {
    CompletableFuture<Void> call;
    try (Lease held = other.lock("busy").acquire()) {
      CountDownLatch waiting = waiting();
      call =
          inThread(
              () -> {
                orders.waits();
                return null;
              });
      assertTrue(waiting.await(1, TimeUnit.MINUTES));
      assertEquals(0, orders.runs());
      assertTrue(held.isHeld());
    }
    call.get(1, TimeUnit.MINUTES);
    assertEquals(1, orders.runs());
  }

  private CountDownLatch waiting() {
    CountDownLatch waiting = new CountDownLatch(1);
    context
        .getBean(LockClient.class)
        .onEvent(
            event -> {
              if (event instanceof LockEvent.Waiting) {
                waiting.countDown();
              }
            });
    return waiting;
  }

  @Test
  void anInterruptEndsTheWait() throws Exception {
    try (Lease held = other.lock("busy").acquire()) {
      assertTrue(held.isHeld());
      Thread.currentThread().interrupt();
      CancellationException undeclared =
          assertThrows(CancellationException.class, orders::waitsForever);
      assertInstanceOf(InterruptedException.class, undeclared.getCause());
      assertTrue(Thread.interrupted(), "the interrupt status is lost");

      Thread.currentThread().interrupt();
      assertThrows(InterruptedException.class, orders::waitsInterruptibly);
      assertFalse(Thread.interrupted());
      assertEquals(0, orders.runs());
    }
  }

  @Test
  void severalNamesAreLockedTogether() throws Exception {
    assertEquals(List.of("from-a", "to-b"), orders.transfer("a", "b"));
    try (Lease held = other.lock("to-b").acquire()) {
      assertTrue(held.isHeld());
      CountDownLatch waiting = waiting();
      Thread caller = new Thread(() -> orders.transfer("a", "b"));
      caller.setUncaughtExceptionHandler((thread, e) -> {});
      caller.start();
      assertTrue(waiting.await(1, TimeUnit.MINUTES));
      assertTrue(other.admin().inspect("from-a").isHeld());
      caller.interrupt();
      caller.join();
    }
    Eventually.holds("the set is free", () -> !other.admin().inspect("from-a").isHeld());
  }

  @Test
  void readersShareTheLockAndAWriterDoesNot() throws Exception {
    CountDownLatch both = new CountDownLatch(2);
    Callable<Boolean> meet =
        () -> {
          both.countDown();
          return both.await(1, TimeUnit.MINUTES);
        };
    CompletableFuture<Void> reader = inThread(() -> orders.read(meet));
    assertTrue(orders.read(meet));
    reader.get(1, TimeUnit.MINUTES);
    boolean beside =
        orders.write(
            () -> otherShared.readWriteLock("catalog").readLock().tryAcquire().isPresent());
    assertFalse(beside, "a reader beside a writer");
  }

  @Test
  void aLostLeaseInterruptsTheMethod() throws Exception {
    CountDownLatch started = new CountDownLatch(1);
    CompletableFuture<Void> call =
        inThread(
            () -> {
              orders.interrupted(started);
              return null;
            });
    assertTrue(started.await(1, TimeUnit.MINUTES));
    assertTrue(store.takeAway("long"));
    LeaseLostException loss = assertInstanceOf(LeaseLostException.class, failureOf(call));
    assertEquals(LossReason.TAKEN, loss.reason());
    assertInstanceOf(InterruptedException.class, loss.getSuppressed()[0]);
  }

  @Test
  void aMethodMayFinishAfterALoss() throws Exception {
    for (boolean fail : new boolean[] {false, true}) {
      CountDownLatch started = new CountDownLatch(1);
      CompletableFuture<Void> call =
          inThread(
              () -> {
                orders.finishes(started, fail);
                return null;
              });
      assertTrue(started.await(1, TimeUnit.MINUTES));
      assertTrue(store.takeAway("long"));
      LeaseLostException loss = assertInstanceOf(LeaseLostException.class, failureOf(call));
      assertEquals(fail ? 1 : 0, loss.getSuppressed().length);
    }
    assertEquals(2, orders.runs());
  }

  @Test
  void aNestedCallJoinsTheLockOfItsThread() throws Exception {
    Warehouse warehouse = context.getBean(Warehouse.class);
    assertTrue(warehouse.joins());
    assertFalse(other.admin().inspect("same").isHeld());
    assertTrue(warehouse.readsWhileItWrites());
  }

  @Test
  void aCallJoinsTheLockOfAnyEnclosingCall() throws Exception {
    Callable<Boolean> isHeld = () -> CurrentLease.get().isHeld();
    assertTrue(orders.write(() -> orders.read(() -> orders.write(isHeld))));
    assertTrue(orders.all(() -> orders.one(() -> orders.all(isHeld))));
  }

  @Test
  void aCallThatWouldWaitForItselfIsRefused() throws Exception {
    Warehouse warehouse = context.getBean(Warehouse.class);
    IllegalStateException more = assertThrows(IllegalStateException.class, warehouse::asksForMore);
    assertTrue(more.getMessage().contains("wait for itself"), more.getMessage());
    assertThrows(
        IllegalStateException.class, () -> orders.read(() -> orders.write(() -> "unreachable")));
    assertFalse(otherShared.admin().inspect("catalog").isHeld());
  }

  @Test
  void aCallThatJoinsALockWithoutItsLimitsIsRefused() throws Exception {
    for (Callable<?> inner :
        List.<Callable<?>>of(
            Executors.callable(orders::atLeast), Executors.callable(orders::atMost))) {
      IllegalStateException refusal =
          assertThrows(IllegalStateException.class, () -> orders.one(inner));
      assertTrue(refusal.getMessage().contains("Orders.one(Callable)"), refusal.getMessage());
    }
    assertEquals(0, orders.runs());
    Object unused = orders.shorter(Executors.callable(orders::atMost));
    assertEquals(1, orders.runs());
  }

  @Test
  void codeThatNeedsTheCurrentLeaseCanBeTestedWithoutSpring() throws Exception {
    Orders withoutProxy = new Orders();
    try (Lease lease = other.lock("seven").acquire()) {
      assertEquals("seven", CurrentLease.callWith(lease, withoutProxy::literal));
    }
    assertThrows(IllegalStateException.class, withoutProxy::literal);
  }

  @Test
  void aCallFromTheSameObjectHasNoLease() {
    assertTrue(orders.callsItself());
    assertFalse(orders.unlockedFromInside());
    IllegalStateException none = assertThrows(IllegalStateException.class, CurrentLease::get);
    assertTrue(
        none.getMessage().contains("not inside a call of a @Locked method"), none.getMessage());
  }

  @Test
  void anAsynchronousCallHoldsTheLockInItsOwnThread() throws Exception {
    CompletableFuture<String> name = new CompletableFuture<>();
    orders.inBackground(name);
    assertEquals("async true", name.get(1, TimeUnit.MINUTES));
  }

  @Test
  void aResultWhoseWorkGoesOnIsRefusedEvenIfItsDeclaredTypeHidesIt() throws Exception {
    StreamingResponseBody body = out -> {};
    for (Object result :
        List.of(
            new CompletableFuture<>(),
            Stream.of(1),
            Optional.of(new CompletableFuture<>()),
            ResponseEntity.ok(body))) {
      IllegalStateException refusal =
          assertThrows(IllegalStateException.class, () -> orders.one(() -> result));
      assertTrue(refusal.getMessage().contains("may go on"), refusal.getMessage());
      assertFalse(other.admin().inspect("same").isHeld());
    }
    assertEquals("done", orders.one(() -> ResponseEntity.ok("done")).getBody());
  }

  @Test
  void callsOfManyThreadsExcludeEachOther() throws Exception {
    int[] counter = {0};
    var pool = Executors.newFixedThreadPool(8);
    for (int i = 0; i < 200; i++) {
      var unused = pool.submit(() -> orders.write(() -> counter[0]++));
    }
    pool.shutdown();
    assertTrue(pool.awaitTermination(1, TimeUnit.MINUTES));
    assertEquals(200, counter[0]);
  }
}
