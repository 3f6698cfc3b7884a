package dev.interlock.internal;

import dev.interlock.Capability;
import dev.interlock.LockAdmin;
import dev.interlock.LockState;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/** Administration over the client's own connection. */
record Admin(Engine engine) implements LockAdmin {

  @Override
  public LockState inspect(String name) {
    return engine.callFor(name, () -> engine.inspect(name));
  }

  @Override
  public Stream<LockState> list(String prefix) {
    Names.checkedPrefix(prefix);
    engine.require(Capability.LIST, "listing locks");
    return StreamSupport.stream(new Listing(engine, prefix), false);
  }

  @Override
  public boolean forceRelease(String name) {
    return engine.callFor(name, () -> engine.store.forceRelease(name, engine.requestDeadline()));
  }

  @Override
  public boolean revoke(String name) {
    return engine.callFor(name, () -> engine.store.revoke(name, engine.requestDeadline()));
  }

  @Override
  public String toString() {
    return "LockAdmin[" + engine.backend.name() + " at " + engine.store.endpoint() + "]";
  }
}
