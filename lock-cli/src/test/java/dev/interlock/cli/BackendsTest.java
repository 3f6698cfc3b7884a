package dev.interlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.FailureModel.Guarantee;
import dev.interlock.Fault;
import dev.interlock.spi.LockProvider;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** {@code backends} shows what the backends declare. */
class BackendsTest {
  @AutoClose private final Interlock interlock = new Interlock();

  @Test
  void theJsonFormShowsEverythingThatTheBackendsDeclare() throws Exception {
    String out = interlock.run("backends", "--json").assertDone().out();
    JsonArray backends = JsonParser.parseString(out).getAsJsonObject().getAsJsonArray("backends");
    Set<String> shown = new TreeSet<>();
    for (JsonElement element : backends) {
      JsonObject backend = element.getAsJsonObject();
      String scheme = backend.get("scheme").getAsString();
      shown.add(scheme);
      LockProvider provider = provider(scheme);
      BackendInfo info = provider.describe(scheme);
      assertEquals(info.name(), backend.get("name").getAsString());
      assertEquals(info.summary(), backend.get("summary").getAsString());
      assertEquals(provider.example(scheme), backend.get("example").getAsString());
      assertEquals(info.minTtl().toMillis(), backend.get("minTtlMillis").getAsLong());
      assertEquals(info.granularity().toMillis(), backend.get("granularityMillis").getAsLong());
      assertEquals(info.capabilities(), capabilities(backend.getAsJsonArray("capabilities")));
      assertEquals(
          info.failureModel().table(), failureModel(backend.getAsJsonObject("failureModel")));
    }
    Set<String> declared = new TreeSet<>();
    ServiceLoader.load(LockProvider.class).forEach(provider -> declared.addAll(provider.schemes()));
    assertEquals(declared, shown);
    assertTrue(shown.contains("memory"), shown::toString);
    assertTrue(shown.contains("redis"), shown::toString);
  }

  @Test
  void theTableShowsEverySchemeAndFault() throws Exception {
    String out = interlock.run("backends").assertDone().out();
    for (LockProvider provider : ServiceLoader.load(LockProvider.class)) {
      for (String scheme : provider.schemes()) {
        assertTrue(out.contains(provider.example(scheme)), out);
      }
    }
    assertTrue(out.contains("capabilities         fencing"), out);
    String unbroken = out.replaceAll("\\s+", " ");
    assertTrue(unbroken.contains("only tokens under forced release"), out);
    out.lines()
        .filter(line -> !line.contains("://")) // URIs are not wrapped
        .forEach(line -> assertTrue(line.length() <= 80, line));
  }

  private static LockProvider provider(String scheme) {
    return ServiceLoader.load(LockProvider.class).stream()
        .map(ServiceLoader.Provider::get)
        .filter(provider -> provider.schemes().contains(scheme))
        .findFirst()
        .orElseThrow();
  }

  private static Set<Capability> capabilities(JsonArray names) {
    Set<Capability> capabilities = EnumSet.noneOf(Capability.class);
    names.forEach(name -> capabilities.add(Capability.valueOf(name.getAsString())));
    return capabilities;
  }

  private static Map<Fault, Guarantee> failureModel(JsonObject faults) {
    Map<Fault, Guarantee> model = new EnumMap<>(Fault.class);
    faults
        .entrySet()
        .forEach(
            entry ->
                model.put(
                    Fault.valueOf(entry.getKey()),
                    Guarantee.valueOf(entry.getValue().getAsString())));
    return model;
  }
}
