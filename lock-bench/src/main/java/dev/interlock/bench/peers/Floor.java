package dev.interlock.bench.peers;

import dev.interlock.compare.BareDriver;
import dev.interlock.spi.LockUri;
import java.util.ServiceLoader;

/** The bare calls that the comparison of backends measures too. */
record Floor(BareDriver.Session session) implements Contender {

  /** The driver of a store, not yet connected. */
  static BareDriver of(String uri) {
    String scheme = LockUri.parse(uri).scheme();
    return ServiceLoader.load(BareDriver.class).stream()
        .map(ServiceLoader.Provider::get)
        .filter(driver -> driver.schemes().contains(scheme))
        .findFirst()
        .orElseThrow(() -> new IllegalStateException("no bare driver for " + scheme));
  }

  @Override
  public void pair(String name) throws Exception {
    session.pair(name);
  }

  @Override
  public void close() {
    session.close();
  }
}
