package dev.interlock.tck;

import dev.interlock.tck.rules.AdminRules;
import dev.interlock.tck.rules.ApiRules;
import dev.interlock.tck.rules.ElectionRules;
import dev.interlock.tck.rules.ExclusionRules;
import dev.interlock.tck.rules.FairnessRules;
import dev.interlock.tck.rules.FaultRules;
import dev.interlock.tck.rules.FencingRules;
import dev.interlock.tck.rules.LeaseRules;
import dev.interlock.tck.rules.LivenessRules;
import dev.interlock.tck.rules.LockViewRules;
import dev.interlock.tck.rules.LossRules;
import dev.interlock.tck.rules.MultiLockRules;
import dev.interlock.tck.rules.ReadWriteRules;
import dev.interlock.tck.rules.ReleaseRules;
import dev.interlock.tck.rules.RuleTest;
import dev.interlock.tck.rules.SemaphoreRules;
import dev.interlock.tck.run.BrokenRule;
import dev.interlock.tck.run.Kit;
import dev.interlock.tck.run.ReportListener;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.TestInstances;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * The whole contract as a JUnit 5 test class. Extend it, name your store, and run it like any other
 * test:
 *
 * <pre>{@code
 * class MyStoreTest extends LockTck {
 *   @Override
 *   protected Harness harness() {
 *     return Harness.at("mystore://localhost:1234");
 *   }
 * }
 * }</pre>
 *
 * <p>Each section of the contract is a nested class. Tests run concurrently, since they wait most
 * of the time: the kit's {@code junit-platform.properties} enables JUnit's parallel execution for
 * classes that request it. A project with its own file of that name must set {@code
 * junit.jupiter.execution.parallel.enabled} in it; otherwise a run takes as long as all waits
 * together.
 *
 * <p>The message of a failure names the broken rule, and the places to look at.
 *
 * <p>Tests that cannot run with the given harness are aborted, with the reason. The system property
 * or JUnit configuration parameter {@code interlock.tck.report} names the folder of a report by
 * rule: {@code -Dinterlock.tck.report=target/tck}.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Execution(ExecutionMode.CONCURRENT)
@ExtendWith({LockTck.KitOfRun.class, BrokenRule.Explanation.class})
@SuppressWarnings("exports") // only JUnit uses the extensions
public abstract class LockTck {
  private @Nullable Kit kit;
  private @Nullable Exception failure;

  /** For subclasses. */
  protected LockTck() {}

  /**
   * {@return the harness that gives the kit access to the backend} The kit calls it once.
   *
   * @throws Exception if the backend cannot be tested; all tests then fail
   */
  protected abstract Harness harness() throws Exception;

  private synchronized Kit kit() {
    if (kit == null) {
      try {
        if (failure == null) {
          kit = Kit.start(harness());
          ReportListener.setKit(getClass(), kit);
          return kit;
        }
      } catch (Exception e) {
        failure = e;
      }
      throw new IllegalStateException("the backend cannot be tested: " + failure, failure);
    }
    return kit;
  }

  @AfterAll
  synchronized void closeKit() {
    if (kit != null) {
      kit.close();
    }
  }

  /** Admits each test, and gives it the run's kit. */
  static final class KitOfRun implements BeforeEachCallback, AfterEachCallback {
    @Override
    public void beforeEach(ExtensionContext context) throws InterruptedException {
      TestInstances instances = context.getRequiredTestInstances();
      Kit kit = instances.findInstance(LockTck.class).orElseThrow().kit();
      instances.findInstance(RuleTest.class).ifPresent(rules -> rules.setKit(kit));
      kit.testStarts(context);
    }

    @Override
    public void afterEach(ExtensionContext context) {
      Kit.testEnded(context);
    }
  }

  @Nested
  class Exclusion extends ExclusionRules {}

  @Nested
  class Liveness extends LivenessRules {}

  @Nested
  class Leases extends LeaseRules {}

  @Nested
  class Losses extends LossRules {}

  @Nested
  class Fencing extends FencingRules {}

  @Nested
  class Release extends ReleaseRules {}

  @Nested
  class Api extends ApiRules {}

  @Nested
  class Admin extends AdminRules {}

  @Nested
  class Fairness extends FairnessRules {}

  @Nested
  class LockView extends LockViewRules {}

  @Nested
  class MultiLock extends MultiLockRules {}

  @Nested
  class Faults extends FaultRules {}

  @Nested
  class ReadWrite extends ReadWriteRules {}

  @Nested
  class Semaphores extends SemaphoreRules {}

  @Nested
  class Elections extends ElectionRules {}
}
