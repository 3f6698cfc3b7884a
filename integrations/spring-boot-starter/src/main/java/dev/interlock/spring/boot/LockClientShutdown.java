package dev.interlock.spring.boot;

import dev.interlock.LockClient;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationContextAware;
import org.springframework.context.ApplicationListener;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.event.ContextClosedEvent;

/**
 * Closes the lock clients when the application ends. This comes after the web server, the
 * schedulers and everything else that has a phase, because their work may hold locks. It comes
 * before the beans are destroyed, because the work needs them.
 */
final class LockClientShutdown
    implements SmartLifecycle, ApplicationListener<ContextClosedEvent>, ApplicationContextAware {

  private final List<LockClient> clients;
  private final Duration drain;
  private @Nullable ApplicationContext context;
  private volatile boolean running;
  private volatile boolean closing;

  LockClientShutdown(Collection<LockClient> clients, Duration drain) {
    this.clients = List.copyOf(clients);
    this.drain = drain;
  }

  @Override
  public void setApplicationContext(ApplicationContext context) {
    this.context = context;
  }

  @Override
  public void onApplicationEvent(ContextClosedEvent event) {
    if (event.getApplicationContext() == context) {
      closing = true;
    }
  }

  @Override
  public void start() {
    running = true;
  }

  /** Closes the clients only if the context is closed. A stopped context may be started again. */
  @Override
  public void stop() {
    running = false;
    if (closing) {
      long end = System.nanoTime() + drain.toNanos();
      for (LockClient client : clients) {
        long remaining = Math.max(0, end - System.nanoTime());
        client.close(Duration.ofNanos(remaining));
      }
    }
  }

  @Override
  public boolean isPauseable() {
    return false;
  }

  @Override
  public boolean isRunning() {
    return running;
  }

  @Override
  public int getPhase() {
    return Integer.MIN_VALUE;
  }
}
