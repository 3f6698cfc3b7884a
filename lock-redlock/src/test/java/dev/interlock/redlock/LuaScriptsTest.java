package dev.interlock.redlock;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.redis.server.Script;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import java.io.IOException;
import java.io.StringReader;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.luaj.vm2.ast.Exp;
import org.luaj.vm2.ast.NameResolver;
import org.luaj.vm2.parser.LuaParser;

/** The scripts of both modules are Lua, use no undeclared name, and load on a real server. */
class LuaScriptsTest {

  private static final Set<String> GLOBALS =
      Set.of("redis", "KEYS", "ARGV", "string", "math", "type", "tonumber", "unpack");

  /** {@return the scripts, by the names of their files} */
  private static Map<String, Script> scripts() throws IllegalAccessException {
    Map<String, Script> scripts = new TreeMap<>();
    for (Class<?> owner : List.of(Script.class, NodeScripts.class)) {
      for (Field field : owner.getDeclaredFields()) {
        if (field.getType() == Script.class) {
          scripts.put(owner.getSimpleName() + "." + field.getName(), (Script) field.get(null));
        }
      }
    }
    return scripts;
  }

  private static String text(Script script) {
    return new String(script.source(), US_ASCII);
  }

  private static Set<String> undeclared(String lua) throws Exception {
    Set<String> names = new TreeSet<>();
    new LuaParser(new StringReader(lua))
        .Chunk()
            .accept(
                new NameResolver() {
                  @Override
                  public void visit(Exp.NameExp use) {
                    super.visit(use);
                    if (!use.name.variable.isLocal() && !GLOBALS.contains(use.name.name)) {
                      names.add(use.name.name);
                    }
                  }
                });
    return names;
  }

  @Test
  void everyNameIsDeclared() throws Exception {
    assertEquals(Set.of("valeu"), undeclared("local value = 1 return valeu"));
    for (Map.Entry<String, Script> script : scripts().entrySet()) {
      assertEquals(Set.of(), undeclared(text(script.getValue())), script.getKey());
    }
  }

  @Test
  void everyFileIsPartOfAScript() throws Exception {
    String all = String.join("", scripts().values().stream().map(LuaScriptsTest::text).toList());
    for (Path file : files()) {
      List<String> code = new ArrayList<>(Files.readAllLines(file));
      code.removeIf(line -> line.stripLeading().startsWith("--"));
      boolean included = code.isEmpty() || all.contains(code.get(0));
      assertTrue(included, () -> file + " is included nowhere");
    }
  }

  private static List<Path> files() throws IOException {
    List<Path> files = new ArrayList<>();
    for (String module : List.of("lock-redis", "lock-redlock")) {
      try (Stream<Path> all = Files.walk(Path.of("..", module, "src", "main", "resources"))) {
        all.filter(file -> file.toString().endsWith(".lua")).forEach(files::add);
      }
    }
    assertEquals(54, files.size());
    return files;
  }

  @Test
  void aServerLoadsEveryScript() throws Exception {
    try (RedisServer redis = Testbed.redis().start()) {
      for (Map.Entry<String, Script> script : scripts().entrySet()) {
        assertEquals(
            new String(script.getValue().digest(), US_ASCII),
            redis.call("SCRIPT", "LOAD", text(script.getValue())),
            script.getKey());
      }
    }
  }
}
