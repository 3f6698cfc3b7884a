package dev.interlock.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.spring.Locked.Mode;
import dev.interlock.spring.Locked.WhenBusy;
import io.reactivex.rxjava3.core.Completable;
import java.lang.reflect.Method;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledFuture;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import kotlin.sequences.Sequence;
import kotlinx.coroutines.Deferred;
import kotlinx.coroutines.Job;
import kotlinx.coroutines.channels.ReceiveChannel;
import kotlinx.coroutines.flow.Flow;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.ProxyType;
import org.springframework.context.annotation.Proxyable;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.core.PriorityOrdered;
import org.springframework.http.ResponseEntity;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.event.TransactionalEventListener;
import org.springframework.web.servlet.mvc.method.annotation.SseEmitter;
import org.springframework.web.servlet.mvc.method.annotation.StreamingResponseBody;

/** Mistakes that keep an application from starting, and their messages. */
class LockedBeanCheckTest {

  @Configuration
  @EnableLocked
  static class Base {
    @Bean
    LockClient client() {
      return LockClient.open("memory:locked-bean-check");
    }
  }

  private static void assertRefused(String message, Class<?>... beans) {
    Throwable failure =
        assertThrows(Exception.class, () -> start(beans), () -> "this was not refused: " + message);
    Throwable root = NestedExceptionUtils.getMostSpecificCause(failure);
    LockConfigurationException refusal = find(failure);
    assertTrue(refusal.getMessage().contains(message), () -> root.toString());
    assertTrue(refusal.getMessage().startsWith("@Locked on "), refusal.getMessage());
  }

  private static LockConfigurationException find(Throwable failure) {
    for (Throwable at = failure; at != null; at = at.getCause()) {
      if (at instanceof LockConfigurationException refusal) {
        return refusal;
      }
    }
    throw new AssertionError("not a LockConfigurationException", failure);
  }

  private static void start(Class<?>... beans) {
    try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
      context.register(Base.class);
      context.register(beans);
      context.refresh();
    }
  }

  static class Private {
    @Locked("a")
    @SuppressWarnings("unused")
    private void method() {}
  }

  static class Static {
    @Locked("a")
    static void method() {}
  }

  static class Final {
    @Locked("a")
    public final void method() {}
  }

  static class FinalBesideAnother extends Final {
    @Locked("b")
    public void other() {}
  }

  @Test
  void methodsThatAProxyCannotInterceptAreRefused() {
    assertRefused("the method is private", Private.class);
    assertRefused("the method is static", Static.class);
    assertRefused("the method is final", Final.class);
    assertRefused("the method is final", FinalBesideAnother.class);
  }

  abstract static class Fetching<T> {
    @Locked("a")
    public @Nullable T method() {
      return null;
    }
  }

  static class FetchingLater extends Fetching<CompletableFuture<String>> {}

  static class FetchingNow extends Fetching<List<Optional<String>>> {}

  /** Results whose work may go on after the return. */
  interface Unfinished {
    CompletableFuture<String> future();

    ScheduledFuture<String> scheduled();

    java.util.concurrent.Flow.Publisher<String> publisher();

    Completable rxJava();

    SseEmitter events();

    ResponseEntity<StreamingResponseBody> body();

    ResponseEntity<? extends Callable<String>> wildcard();

    Optional<CompletableFuture<String>> optional();

    List<Map<String, Future<?>[]>> nested();

    <T extends Future<?>> T variable(T same);

    Stream<String> stream();

    LongStream primitives();

    Flow<String> flow();

    Deferred<String> deferred();

    Job job();

    Sequence<String> sequence();

    ReceiveChannel<String> channel();
  }

  interface Finished {
    String text();

    @SuppressWarnings("rawtypes")
    Optional raw();

    ResponseEntity<?> unknown();

    <T extends Comparable<T>> List<T> variable();

    Map<String, List<byte[]>> nested();
  }

  @Test
  void methodsWhoseWorkGoesOnAfterTheyHaveReturnedAreRefused() {
    for (Method method : Unfinished.class.getMethods()) {
      assertTrue(
          OngoingWork.declaredBy(method, Unfinished.class).isPresent(), () -> method.toString());
    }
    for (Method method : Finished.class.getMethods()) {
      assertEquals(Optional.empty(), OngoingWork.declaredBy(method, Finished.class));
    }
    assertRefused("the work behind a CompletableFuture may go on", FetchingLater.class);
    start(FetchingNow.class);
  }

  static class SkipsNumber {
    @Locked(value = "a", whenBusy = WhenBusy.SKIP)
    public int method() {
      return 1;
    }
  }

  static class SkipsText {
    @Locked(value = "a", whenBusy = WhenBusy.SKIP)
    public String method() {
      return "";
    }
  }

  @Test
  void skippedMethodsThatHaveToReturnSomethingAreRefused() {
    assertRefused("can return nothing", SkipsNumber.class);
    assertRefused("can return nothing", SkipsText.class);
  }

  static class NoName {
    @Locked
    public void method() {}
  }

  static class BlankName {
    @Locked("")
    public void method() {}
  }

  static class BadExpression {
    @Locked("order-#{#id")
    public void method(long id) {}
  }

  static class NoParameter {
    @Locked("order-#{#order.id}")
    public void method(long id) {}
  }

  static class NoBean {
    @Locked(expression = "@names.of(#id)")
    public void method(long id) {}
  }

  static class NoPlaceholder {
    @Locked("${no.such.property}")
    public void method() {}
  }

  static class TooLong {
    @Locked(
        "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890"
            + "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234"
            + "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234")
    public void method() {}
  }

  @Test
  void namesThatCannotBeReadAreRefused() {
    assertRefused("the annotation names no lock", NoName.class);
    assertRefused("the name of the lock is empty", BlankName.class);
    assertRefused("is not an expression", BadExpression.class);
    assertRefused("the method has no parameter #order; an expression may use", NoParameter.class);
    assertRefused("there is no bean @names", NoBean.class);
    assertRefused("no.such.property", NoPlaceholder.class);
    assertRefused("255", TooLong.class);
  }

  static class BadDuration {
    @Locked(value = "a", waitFor = "5 seconds")
    public void method() {}
  }

  static class ZeroTtl {
    @Locked(value = "a", ttl = "0s")
    public void method() {}
  }

  static class MinAboveMax {
    @Locked(value = "a", minHold = "10s", maxHold = "5s")
    public void method() {}
  }

  static class SeveralReaders {
    @Locked(
        value = {"a", "b"},
        mode = Mode.READ)
    public void method() {}
  }

  @Test
  void optionsThatAreNotAllowedAreRefused() {
    assertRefused("waitFor: \"5 seconds\" is not a duration", BadDuration.class);
    assertRefused("ttl must be between 1 ms and 365 days", ZeroTtl.class);
    assertRefused("minHold must be at most maxHold", MinAboveMax.class);
    assertRefused("several names can only be locked exclusively", SeveralReaders.class);
  }

  static class NamedClient {
    @Locked(value = "a", client = "elsewhere")
    public void method() {}
  }

  static class SecondClient {
    @Bean
    LockClient second() {
      return LockClient.open("memory:locked-bean-check-2");
    }
  }

  static class Fine {
    @Locked("a")
    public void method() {}
  }

  @Test
  void missingAndAmbiguousClientsAreRefused() {
    assertRefused(
        "there is no LockClient bean named elsewhere; the LockClient beans are client",
        NamedClient.class);
    assertRefused("there are several LockClient beans", Fine.class, SecondClient.class);
    try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
      context.register(Fine.class, OnlyEnabled.class);
      Throwable failure = assertThrows(Exception.class, context::refresh);
      assertTrue(find(failure).getMessage().contains("there is no LockClient bean; declare one"));
    }
  }

  @Configuration
  @EnableLocked
  static class OnlyEnabled {}

  static class TooEarly implements BeanPostProcessor, PriorityOrdered {
    @Override
    public int getOrder() {
      return 0;
    }

    @Locked("a")
    public void method() {}
  }

  @Test
  void aBeanThatIsCreatedTooEarlyForAProxyIsRefused() {
    assertRefused("has no proxy", TooEarly.class);
  }

  interface Shipping {
    void ship();
  }

  static class ShippingByHand implements Shipping {
    @Override
    public void ship() {}

    @Locked("a")
    public void notInTheInterface() {}
  }

  @Proxyable(ProxyType.TARGET_CLASS)
  static class ShippingByClass extends ShippingByHand {}

  static class LockedShipping implements Shipping {
    private final List<String> seen = new java.util.ArrayList<>();

    @Override
    @Locked("shipping")
    public void ship() {
      seen.add(CurrentLease.get().name());
    }
  }

  @Test
  void aMethodThatIsInNoProxiedInterfaceIsRefused() {
    assertRefused("@Proxyable(ProxyType.TARGET_CLASS)", ShippingByHand.class);
    start(ShippingByClass.class);
  }

  @Test
  void aMethodOfAnInterfaceIsLocked() {
    try (AnnotationConfigApplicationContext context =
        new AnnotationConfigApplicationContext(Base.class, LockedShipping.class)) {
      Shipping shipping = context.getBean(Shipping.class);
      shipping.ship();
      LockedShipping target =
          assertInstanceOf(
              LockedShipping.class,
              org.springframework.aop.framework.AopProxyUtils.getSingletonTarget(shipping));
      assertEquals(List.of("shipping"), target.seen);
    }
  }

  @EnableTransactionManagement(order = 0)
  static class TransactionFirst {
    @Bean
    JdbcTransactionManager transactions() {
      return new JdbcTransactionManager(
          new DriverManagerDataSource("jdbc:h2:mem:locked-bean-check", "sa", ""));
    }
  }

  static class InTransaction {
    @Locked("a")
    @Transactional
    public void method() {}

    @Transactional
    public void unlocked() {}
  }

  static class BesideTransaction {
    @Locked("a")
    public void method() {}

    @Transactional
    public void unlocked() {}
  }

  @Test
  void aTransactionAroundTheLockIsRefused() {
    assertRefused("its transaction would begin", TransactionFirst.class, InTransaction.class);
    start(TransactionFirst.class, BesideTransaction.class);
  }

  static class AfterCommit {
    @TransactionalEventListener
    @Locked("a")
    public void method(String event) {}
  }

  static class AfterCommitAllowed {
    @TransactionalEventListener
    @Locked(value = "a", insideTransaction = true)
    public void method(String event) {}
  }

  @EnableAsync
  static class AfterCommitElsewhere {
    @Async
    @TransactionalEventListener
    @Locked("a")
    public void method(String event) {}
  }

  @Test
  void aTransactionalEventListenerIsRefusedUnlessAllowed() {
    assertRefused("set insideTransaction = true", TransactionFirst.class, AfterCommit.class);
    start(TransactionFirst.class, AfterCommitAllowed.class);
    start(TransactionFirst.class, AfterCommitElsewhere.class);
  }

  @Lazy
  static class Late extends Private {}

  @Test
  void aLazyBeanIsRefusedWhenItIsCreated() {
    try (AnnotationConfigApplicationContext context =
        new AnnotationConfigApplicationContext(Base.class, Late.class)) {
      Exception failure = assertThrows(Exception.class, () -> context.getBean(Late.class));
      assertTrue(find(failure).getMessage().contains("the method is private"));
    }
  }
}
