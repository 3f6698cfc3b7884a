package dev.interlock.verify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** No class with tests is left out without a word. */
class ListingTest {

  @TempDir private Path directory;

  private Path testClasses;

  @BeforeEach
  void makeModule() throws IOException {
    testClasses = Files.createDirectories(directory.resolve("target/test-classes"));
    Files.writeString(
        directory.resolve("options"), Files.readString(Path.of("../tools/test-jvm-options")));
  }

  private void compile(String name, String code) throws IOException {
    Path source = directory.resolve(name + ".java");
    Files.writeString(source, "import org.junit.jupiter.api.*;\n" + code);
    assertEquals(
        0,
        ToolProvider.getSystemJavaCompiler()
            .run(
                null,
                null,
                null,
                "-proc:none",
                "-cp",
                System.getProperty("java.class.path") + File.pathSeparator + testClasses,
                "-d",
                testClasses.toString(),
                source.toString()));
  }

  private List<String> list() throws Exception {
    return TestJvm.list(
        new TestJvm.Settings(
            Path.of(System.getProperty("java.home"), "bin", "java"),
            directory.resolve("options"),
            "",
            "extended",
            "",
            List.of()),
        new MavenModule(
            "lock-sample",
            directory,
            testClasses + File.pathSeparator + System.getProperty("java.class.path")));
  }

  @Test
  void classesWithDefaultTestsAreListedWhateverTheirNames() throws Exception {
    compile("Plain", "class Plain { @Test void passes() {} }");
    compile("Inherits", "class Inherits extends Plain {}");
    compile("Extended", "@Tag(\"extended\") class Extended { @Test void passes() {} }");
    compile("Base", "abstract class Base { @Test void passes() {} }");
    compile("Helper", "class Helper { int two() { return 2; } }");
    assertEquals(List.of("Inherits", "Plain"), list());
  }

  @Test
  void aClassWhoseTestsJunitWouldLeaveOutIsAnError() throws Exception {
    compile("Hidden", "class Hidden { @Test void passes() {} @Test private void fails() {} }");
    assertTrue(assertThrows(IOException.class, this::list).getMessage().contains("Hidden"));
  }

  @Test
  void aClassThatCannotBeLoadedIsAnError() throws Exception {
    compile("Lost", "interface Lost {}");
    compile("Uses", "class Uses implements Lost { @Test void passes() {} }");
    Files.delete(testClasses.resolve("Lost.class"));
    assertTrue(assertThrows(IOException.class, this::list).getMessage().contains("Lost"));
  }
}
