package dev.interlock.spring.boot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import dev.interlock.LockState;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spring.CurrentLease;
import dev.interlock.spring.Locked;
import dev.interlock.testbed.Eventually;
import dev.interlock.testing.TestStore;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.junit.jupiter.api.Test;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.boot.health.contributor.CompositeHealthContributor;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.io.support.SpringFactoriesLoader;
import org.springframework.integration.support.locks.DefaultLockRegistry;
import org.springframework.integration.support.locks.LockRegistry;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;

class InterlockAutoConfigurationTest {

  private static final String HEALTH = "interlockHealthContributor";

  @Configuration
  @EnableAutoConfiguration(exclude = DataSourceAutoConfiguration.class)
  static class Application {}

  private static ConfigurableApplicationContext start(Class<?> beans, String... properties) {
    return new SpringApplicationBuilder(Application.class, beans)
        .web(WebApplicationType.NONE)
        .properties("spring.main.banner-mode=off")
        .properties(properties)
        .run();
  }

  @Test
  void propertiesSetTheOptionsOfTheClient() {
    try (ConfigurableApplicationContext context =
        start(
            Application.class,
            "interlock.uri=memory:options?pollInterval=3s",
            "interlock.ttl=7s",
            "interlock.auto-renew=false",
            "interlock.min-hold=5ms",
            "interlock.max-hold=1h",
            "interlock.request-timeout=900ms",
            "interlock.wait-timeout=1m",
            "interlock.outage-timeout=2m",
            "interlock.open-timeout=3m",
            "interlock.poll-interval=2s",
            "interlock.label=billing")) {
      LockOptions expected =
          LockOptions.builder()
              .ttl(Duration.ofSeconds(7))
              .autoRenew(false)
              .minHold(Duration.ofMillis(5))
              .maxHold(Duration.ofHours(1))
              .requestTimeout(Duration.ofMillis(900))
              .waitTimeout(Duration.ofMinutes(1))
              .outageTimeout(Duration.ofMinutes(2))
              .openTimeout(Duration.ofMinutes(3))
              .pollInterval(Duration.ofSeconds(3)) // the URI comes first
              .label("billing")
              .build();
      assertEquals(expected, context.getBean(LockClient.class).options());
    }
    try (ConfigurableApplicationContext context =
        start(Application.class, "interlock.uri=memory:options")) {
      assertEquals(LockOptions.defaults(), context.getBean(LockClient.class).options());
    }
  }

  @Test
  void thePageHasEveryPropertyWithADescription() throws Exception {
    Path classes = Path.of("target", "classes", "META-INF");
    String metadata = Files.readString(classes.resolve("spring-configuration-metadata.json"));
    Set<String> described = new TreeSet<>();
    Matcher property =
        Pattern.compile("\"name\": \"([^\"]+)\",\\s+\"type\": \"java[^}]*\"description\"")
            .matcher(metadata);
    while (property.find()) {
      described.add(property.group(1));
    }
    Set<String> listed = new TreeSet<>();
    Matcher row =
        Pattern.compile("(?m)^\\| `((?:interlock|management)[.][a-z.-]+)` \\|")
            .matcher(Files.readString(Path.of("..", "..", "docs", "spring.md")));
    while (row.find()) {
      listed.add(row.group(1));
    }
    assertTrue(described.contains("interlock.uri"), metadata);
    assertEquals(described, listed);
  }

  static class Customized {
    @Bean
    LockOptionsCustomizer holder() {
      return options -> {
        LockOptions.Builder unused = options.label("customized");
      };
    }
  }

  @Test
  void aCustomizerIsAppliedAfterTheProperties() {
    try (ConfigurableApplicationContext context =
        start(Customized.class, "interlock.uri=memory:custom", "interlock.label=billing")) {
      LockOptions options = context.getBean(LockClient.class).options();
      assertEquals("customized", options.label().orElseThrow());
    }
  }

  @Test
  void withoutAUriThereIsNoClient() {
    try (ConfigurableApplicationContext context = start(Application.class)) {
      assertEquals(0, context.getBeanNamesForType(LockClient.class).length);
      assertFalse(context.containsBean(HEALTH));
    }
  }

  static class Orders {
    @Locked("orders")
    public long token() {
      return CurrentLease.get().fencingToken();
    }
  }

  @Test
  void annotatedMethodsAreLocked() {
    try (ConfigurableApplicationContext context =
        start(Orders.class, "interlock.uri=memory:annotated")) {
      assertTrue(context.getBean(Orders.class).token() > 0);
    }
  }

  // --- what does not start
  // -------------------------------------------------------------------------

  private static FailureAnalysis analysisOf(Class<?> beans, String... properties) {
    Exception failure = assertThrows(Exception.class, () -> start(beans, properties));
    return SpringFactoriesLoader.forDefaultResourceLocation()
        .load(FailureAnalyzer.class, (type, name, failed) -> {})
        .stream()
        .filter(analyzer -> analyzer.getClass().getName().startsWith("dev.interlock."))
        .map(analyzer -> analyzer.analyze(failure))
        .filter(analysis -> analysis != null)
        .findFirst()
        .orElseThrow(() -> new AssertionError("no analysis", failure));
  }

  @Test
  void aMissingBackendIsNamed() {
    FailureAnalysis analysis =
        analysisOf(Application.class, "interlock.uri=redis://app:secret@localhost:6379");
    assertTrue(
        analysis.getDescription().contains("add the dependency dev.interlock:lock-redis"),
        analysis.getDescription());
    assertFalse(analysis.getDescription().contains("secret"), analysis.getDescription());
    assertTrue(analysis.getAction().contains("interlock.uri"), analysis.getAction());
  }

  @Test
  void anOptionOutOfRangeIsNamed() {
    FailureAnalysis analysis =
        analysisOf(Application.class, "interlock.uri=memory:x", "interlock.ttl=0s");
    assertTrue(
        analysis.getDescription().contains("ttl must be between"), analysis.getDescription());
  }

  @Test
  void aLockedMethodWithoutAClientIsNamed() {
    FailureAnalysis analysis = analysisOf(Orders.class);
    assertTrue(analysis.getDescription().contains("Orders.token()"), analysis.getDescription());
    assertTrue(analysis.getDescription().contains("set interlock.uri"), analysis.getDescription());
  }

  static class Silent {
    @Bean
    LockClient down() {
      TestStore store = new TestStore();
      store.goDown();
      try (LockClient client = store.open()) {
        LockState unused = client.admin().inspect("x");
        throw new AssertionError("the store is down");
      }
    }
  }

  @Test
  void aStoreThatDoesNotAnswerIsNamed() {
    FailureAnalysis analysis = analysisOf(Silent.class);
    assertTrue(analysis.getAction().contains("interlock.open-timeout"), analysis.getAction());
  }

  @Test
  void aDriverOfAnotherVersionIsNamed() throws Exception {
    String action =
        new ConfigurationFailureAnalyzer()
            .analyze(new LockConfigurationException("x", new NoSuchMethodError("jedis")))
            .getAction();
    String pom = Files.readString(Path.of("..", "..", "pom.xml"));
    String tested = pom.split("<jedis.version>")[1].split("<")[0];
    assertTrue(action.contains("<jedis.version>" + tested + "</jedis.version>"), action);
  }

  // --- health
  // --------------------------------------------------------------------------------------

  static class OwnClient {
    @Bean
    TestStore store() {
      return new TestStore();
    }

    @Bean
    LockClient own(TestStore store) {
      return store.open();
    }
  }

  @Test
  void healthFollowsTheStore() {
    try (ConfigurableApplicationContext context =
        start(OwnClient.class, "interlock.uri=memory:x")) {
      TestStore store = context.getBean(TestStore.class);
      LockClient client = context.getBean(LockClient.class);
      HealthIndicator indicator = assertInstanceOf(HealthIndicator.class, context.getBean(HEALTH));
      Health up = indicator.health();
      assertEquals(Status.UP, up.getStatus());
      assertEquals(client.endpoint(), up.getDetails().get("endpoint"));
      assertEquals(client.backend().name(), up.getDetails().get("backend"));

      store.goDown();
      Health down = indicator.health();
      assertEquals(Status.DOWN, down.getStatus());
      assertEquals(client.endpoint(), down.getDetails().get("endpoint"));
      store.recover();
      assertEquals(Status.UP, indicator.health().getStatus());
    }
  }

  static class SecondClient {
    @Bean
    LockClient second() {
      return LockClient.open("memory:second");
    }
  }

  @Test
  void eachOfSeveralClientsHasItsOwnHealth() {
    try (ConfigurableApplicationContext context =
        new SpringApplicationBuilder(Application.class, OwnClient.class, SecondClient.class)
            .web(WebApplicationType.NONE)
            .run()) {
      CompositeHealthContributor all =
          assertInstanceOf(CompositeHealthContributor.class, context.getBean(HEALTH));
      assertInstanceOf(HealthIndicator.class, all.getContributor("own"));
      assertInstanceOf(HealthIndicator.class, all.getContributor("second"));
      assertNotSame(
          context.getBean("own"), context.getBean("second"), "the test needs two clients");
    }
  }

  @Test
  void healthCanBeDisabled() {
    try (ConfigurableApplicationContext context =
        start(
            Application.class,
            "interlock.uri=memory:x",
            "management.health.interlock.enabled=false")) {
      assertFalse(context.containsBean(HEALTH));
      assertTrue(context.containsBean("pingHealthContributor"), "there is no health at all");
    }
  }

  // --- metrics

  @Test
  void theMetricsOfTheClientAreInTheRegistry() {
    try (ConfigurableApplicationContext context =
        start(Orders.class, "interlock.uri=memory:metrics")) {
      MeterRegistry registry = context.getBean(MeterRegistry.class);
      Gauge heldLeases =
          registry.get("interlock.held").tags("client", "default", "kind", "exclusive").gauge();
      assertEquals(0, heldLeases.value());
      try (Lease lease = context.getBean(LockClient.class).lock("x").tryAcquire().orElseThrow()) {
        assertTrue(lease.isHeld());
        assertEquals(1, heldLeases.value());
      }
    }
  }

  @Test
  void eachOfSeveralClientsHasItsOwnMetrics() {
    try (ConfigurableApplicationContext context =
        new SpringApplicationBuilder(Application.class, OwnClient.class, SecondClient.class)
            .web(WebApplicationType.NONE)
            .run()) {
      MeterRegistry registry = context.getBean(MeterRegistry.class);
      for (String name : List.of("own", "second")) {
        Gauge heldLeases =
            registry.get("interlock.held").tags("client", name, "kind", "exclusive").gauge();
        assertEquals(0, heldLeases.value());
      }
    }
  }

  // --- Spring Integration and ShedLock

  private static Optional<SimpleLock> lockReport(ConfigurableApplicationContext context) {
    return context
        .getBean(LockProvider.class)
        .lock(new LockConfiguration(Instant.now(), "report", Duration.ofMinutes(1), Duration.ZERO));
  }

  @Test
  void adaptersUseTheClient() {
    try (ConfigurableApplicationContext context =
        start(Application.class, "interlock.uri=memory:adapters")) {
      LockClient client = context.getBean(LockClient.class);
      Lock lock = context.getBean(LockRegistry.class).obtain("42");
      lock.lock();
      try {
        assertTrue(client.admin().inspect("42").isHeld());
      } finally {
        lock.unlock();
      }
      SimpleLock report = lockReport(context).orElseThrow();
      assertTrue(client.admin().inspect("report").isHeld());
      report.unlock();
    }
  }

  static class OwnAdapters {
    @Bean
    LockRegistry<Lock> registry() {
      return new DefaultLockRegistry();
    }

    @Bean
    LockProvider provider() {
      return configuration -> Optional.empty();
    }
  }

  @Test
  void adaptersOfTheApplicationReplaceThoseOfTheStarter() {
    try (ConfigurableApplicationContext context =
        start(OwnAdapters.class, "interlock.uri=memory:adapters")) {
      assertInstanceOf(DefaultLockRegistry.class, context.getBean(LockRegistry.class));
      assertTrue(lockReport(context).isEmpty());
    }
  }

  @Test
  void adaptersNeedASingleClient() {
    for (Class<?>[] clients :
        List.of(
            new Class<?>[] {Application.class},
            new Class<?>[] {Application.class, OwnClient.class, SecondClient.class})) {
      try (ConfigurableApplicationContext context =
          new SpringApplicationBuilder(clients).web(WebApplicationType.NONE).run()) {
        assertEquals(0, context.getBeanNamesForType(LockRegistry.class).length);
        assertEquals(0, context.getBeanNamesForType(LockProvider.class).length);
      }
    }
  }

  // --- shutdown
  // ------------------------------------------------------------------------------------

  @Test
  void theShutdownWaitsForLeases() throws Exception {
    ConfigurableApplicationContext context =
        start(Application.class, "interlock.uri=memory:drain", "interlock.shutdown-timeout=1m");
    LockClient client = context.getBean(LockClient.class);
    Lease lease = client.lock("work").acquire();
    CompletableFuture<Void> end = CompletableFuture.runAsync(context::close);
    Eventually.holds(
        "the client acquires nothing more",
        () -> {
          try (Lease other = client.lock("other").tryAcquire().orElseThrow()) {
            return other == null;
          } catch (IllegalStateException e) {
            return true;
          }
        });
    assertTrue(lease.isHeld());
    assertFalse(end.isDone());
    lease.close();
    end.get(1, TimeUnit.MINUTES);
    assertFalse(lease.onLoss().isDone());
  }

  @Test
  void leasesThatAreHeldAfterTheShutdownTimeoutAreLost() throws Exception {
    ConfigurableApplicationContext context =
        start(Application.class, "interlock.uri=memory:drain", "interlock.shutdown-timeout=10ms");
    Lease lease = context.getBean(LockClient.class).lock("work").acquire();
    context.close();
    LeaseLostException loss = lease.onLoss().get(1, TimeUnit.MINUTES);
    assertEquals(LossReason.CLOSED, loss.reason());
  }

  static class Resident implements SmartLifecycle {
    static final List<ReleaseOutcome> OUTCOMES = new CopyOnWriteArrayList<>();
    private final LockClient client;
    private Lease lease;

    Resident(LockClient client) {
      this.client = client;
    }

    @Override
    public void start() {
      lease = client.lock("resident").tryAcquire().orElseThrow();
    }

    @Override
    public void stop() {
      OUTCOMES.add(lease.release());
      OUTCOMES.add(client.lock("farewell").tryAcquire().orElseThrow().release());
    }

    @Override
    public boolean isRunning() {
      return lease != null;
    }
  }

  @Test
  void aBeanCanStillUseTheClientInItsStop() {
    start(Resident.class, "interlock.uri=memory:resident").close();
    assertEquals(List.of(ReleaseOutcome.RELEASED, ReleaseOutcome.RELEASED), Resident.OUTCOMES);
  }

  static class Borrowed {
    static final LockClient CLIENT = LockClient.open("memory:borrowed");

    @Bean(destroyMethod = "")
    LockClient borrowed() {
      return CLIENT;
    }
  }

  @Test
  void aClientThatSpringMustNotDestroyStaysOpen() {
    try (LockClient borrowed = Borrowed.CLIENT) {
      start(Borrowed.class).close();
      assertFalse(borrowed.admin().inspect("x").isHeld());
    }
  }

  @EnableScheduling
  static class Jobs {
    final CountDownLatch started = new CountDownLatch(1);
    final CountDownLatch mayEnd = new CountDownLatch(1);
    final CompletableFuture<Boolean> heldAtEnd = new CompletableFuture<>();

    @Scheduled(fixedDelay = 1, timeUnit = TimeUnit.DAYS)
    @Locked("job")
    public void job() throws InterruptedException {
      started.countDown();
      mayEnd.await();
      heldAtEnd.complete(CurrentLease.get().isHeld());
    }
  }

  @Test
  void aScheduledMethodEndsBeforeTheClientIsClosed() throws Exception {
    ConfigurableApplicationContext context =
        start(Jobs.class, "interlock.uri=memory:jobs", "interlock.shutdown-timeout=1ms");
    Jobs jobs = (Jobs) AopProxyUtils.getSingletonTarget(context.getBean(Jobs.class));
    assertTrue(jobs.started.await(1, TimeUnit.MINUTES));
    LockClient client = context.getBean(LockClient.class);
    CompletableFuture<Void> end = CompletableFuture.runAsync(context::close);
    Eventually.holds("the application is closing", () -> !context.isActive() || context.isClosed());
    assertTrue(client.leases().stream().anyMatch(lease -> lease.name().equals("job")));
    jobs.mayEnd.countDown();
    assertTrue(jobs.heldAtEnd.get(1, TimeUnit.MINUTES));
    end.get(1, TimeUnit.MINUTES);
    try (LockClient next = LockClient.open("memory:jobs")) {
      assertFalse(next.admin().inspect("job").isHeld());
    }
  }

  @Test
  void aChildContextLeavesTheClientToItsParent() {
    try (ConfigurableApplicationContext parent =
        start(Application.class, "interlock.uri=memory:parent")) {
      ConfigurableApplicationContext child =
          new SpringApplicationBuilder(Application.class, Orders.class)
              .parent(parent)
              .web(WebApplicationType.NONE)
              .run();
      assertTrue(child.getBean(Orders.class).token() > 0);
      child.close();
      assertTrue(parent.getBean(LockClient.class).lock("free").tryAcquire().isPresent());
    }
  }

  @Test
  void aContextThatIsStartedAgainKeepsItsClient() {
    try (ConfigurableApplicationContext context =
        start(Orders.class, "interlock.uri=memory:again")) {
      context.stop();
      context.start();
      assertTrue(context.getBean(Orders.class).token() > 0);
      assertSame(context.getBean(LockClient.class), context.getBean("lockClient"));
    }
  }
}
