package dev.interlock.repository;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaAccess.Predicates.target;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.assignableTo;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.belongToAnyOf;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.equivalentTo;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameMatching;
import static com.tngtech.archunit.core.domain.properties.HasOwner.Predicates.With.owner;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static java.util.regex.Pattern.MULTILINE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaCodeUnit;
import com.tngtech.archunit.core.domain.JavaField;
import com.tngtech.archunit.core.domain.JavaMember;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import dev.interlock.spi.DeferrableLease;
import dev.interlock.spi.DelayedTasks;
import dev.interlock.tck.Permissions;
import dev.interlock.tck.Server;
import dev.interlock.tck.ServerNode;
import dev.interlock.tck.StoreView;
import dev.interlock.tck.process.ProcessSignals;
import dev.interlock.tck.process.StderrLogger;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.text.Collator;
import java.text.Normalizer;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.w3c.dom.NodeList;

/**
 * The dependencies that each part of the project may have. The test is in this module because it
 * has all the others on its class path.
 */
class ArchitectureTest {

  private static final String[] API = {
    "dev.interlock", "dev.interlock.spi", "dev.interlock.memory", "dev.interlock.internal"
  };
  private static final String[] EXPORTED = {
    "dev.interlock", "dev.interlock.spi", "dev.interlock.memory"
  };
  private static final String[] BACKENDS = {
    "dev.interlock.redis..",
    "dev.interlock.redlock..",
    "dev.interlock.zookeeper..",
    "dev.interlock.etcd..",
    "dev.interlock.jdbc.."
  };

  /** Methods of {@link Character} that ask the JVM's Unicode tables. */
  private static final String TABLES =
      "getType|is(Defined|Letter|Digit|LetterOrDigit|Alphabetic|Ideographic|Emoji.*|Whitespace"
          + "|SpaceChar|UpperCase|LowerCase|TitleCase|Mirrored|.*Identifier.*)|to.*Case|digit"
          + "|getNumericValue|getName|getDirectionality";

  private static final String SHEDLOCK = "dev.interlock.shedlock..";
  private static final String SPRING_INTEGRATION = "dev.interlock.spring.integration..";
  private static final String TESTING = "dev.interlock.testing..";
  private static final String SPRING = "dev.interlock.spring";
  private static final String SPRING_BOOT = "dev.interlock.spring.boot..";
  private static final String MICROMETER = "dev.interlock.micrometer..";
  private static final String TCK = "dev.interlock.tck..";
  private static final String TESTBED = "dev.interlock.testbed..";
  private static final String REPORT = "dev.interlock.report..";
  private static final String COMPARE = "dev.interlock.compare..";
  private static final String STORM = "dev.interlock.storm..";
  private static final String CLI = "dev.interlock.cli..";

  private static JavaClasses project;

  @BeforeAll
  static void readTheProject() {
    project =
        new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages("dev.interlock");
  }

  @Test
  void everyModuleIsChecked() throws Exception {
    Set<String> modules = new TreeSet<>();
    NodeList named =
        DocumentBuilderFactory.newInstance()
            .newDocumentBuilder()
            .parse(Path.of("..", "pom.xml").toFile())
            .getElementsByTagName("module");
    for (int i = 0; i < named.getLength(); i++) {
      modules.add(named.item(i).getTextContent());
    }
    assertFalse(modules.isEmpty(), "no <module> in the parent POM");

    Set<String> missing = new TreeSet<>(modules);
    // The first has no classes, the second is this module, and nobody depends on the others.
    missing.removeAll(Set.of("interlock-bom", "samples", "lab/simulation", "lab/site"));
    for (JavaClass type : project) {
      String location = type.getSource().orElseThrow().getUri().toString();
      missing.removeIf(module -> location.contains("/" + module + "/target/"));
    }
    assertEquals(Set.of(), missing, "modules with no class on this class path");
  }

  @Test
  void surefireFindsEveryClassWithTests() throws Exception {
    Pattern tests =
        Pattern.compile(
            "^ *@(Test|ParameterizedTest|RepeatedTest|TestFactory)\\b"
                + "|^(public )?class \\w+ extends \\w*(Tck|ContractTest|Cases|SpecimenSuite)\\b",
            MULTILINE);
    Pattern base = Pattern.compile("^(public )?abstract class ", MULTILINE);
    Set<Path> overlooked = new TreeSet<>();
    for (Path sources : testSources()) {
      try (Stream<Path> files = Files.walk(sources)) {
        for (Path file :
            files.filter(each -> each.toString().matches(".*(?<!Test)\\.java")).toList()) {
          String source = Files.readString(file);
          if (tests.matcher(source).find() && !base.matcher(source).find()) {
            overlooked.add(file);
          }
        }
      }
    }
    assertEquals(Set.of(), overlooked, "their names do not end with Test");
  }

  private static List<Path> testSources() throws IOException {
    try (Stream<Path> folders = Files.find(Path.of(".."), 5, (path, file) -> file.isDirectory())) {
      return folders.filter(each -> each.endsWith("src/test/java")).toList();
    }
  }

  @Test
  void theEngineIsKnownInsideItsModuleOnly() {
    check(
        noClasses()
            .that(resideOutsideOf(API))
            .should()
            .dependOnClassesThat()
            .resideInAPackage("dev.interlock.internal.."));
  }

  @Test
  void thePublicApiSpeaksOnlyOfItselfAndTheJdk() {
    check(
        classes()
            .that()
            .resideInAnyPackage(EXPORTED)
            .and(areOpenToOthers())
            .should(haveOnlyInSignatures(jdkOr(EXPORTED))));
  }

  @Test
  void theApiModuleNeedsNoLibraryButLogging() {
    check(
        classes()
            .that()
            .resideInAnyPackage(API)
            .should()
            .onlyDependOnClassesThat(
                jdkOr(API)
                    .or(
                        resideInAnyPackage(
                            "org.slf4j..",
                            "com.google.errorprone.annotations..",
                            "org.jspecify.annotations.."))));
  }

  @Test
  void theTestingModuleKnowsTheApiAlone() {
    check(
        classes()
            .that()
            .resideInAPackage(TESTING)
            .should()
            .onlyDependOnClassesThat(
                jdkOr(EXPORTED).or(resideInAnyPackage(TESTING, "org.jspecify.annotations.."))));
  }

  @Test
  void theSpringModulesKnowTheApiAloneAndTheAnnotationKnowsNoBoot() {
    check(
        classes()
            .that()
            .resideInAPackage(SPRING)
            .should()
            .onlyDependOnClassesThat(
                jdkOr(EXPORTED)
                    .or(
                        resideInAnyPackage(
                            SPRING, "org.jspecify.annotations..", "org.aopalliance.."))
                    .or(
                        resideInAPackage("org.springframework..")
                            .and(not(resideInAPackage("org.springframework.boot.."))))));
    check(
        classes()
            .that()
            .resideInAPackage(SPRING_BOOT)
            .should()
            .onlyDependOnClassesThat(
                jdkOr(EXPORTED)
                    .or(
                        resideInAnyPackage(
                            SPRING,
                            SPRING_BOOT,
                            SPRING_INTEGRATION,
                            SHEDLOCK,
                            MICROMETER,
                            "io.micrometer..",
                            "net.javacrumbs.shedlock.core",
                            "org.jspecify.annotations..",
                            "org.springframework.."))));
  }

  @Test
  void theMetricsKnowTheApiAndMicrometerAlone() {
    check(
        classes()
            .that()
            .resideInAPackage(MICROMETER)
            .should()
            .onlyDependOnClassesThat(
                jdkOr("dev.interlock", MICROMETER)
                    .or(
                        resideInAnyPackage(
                            "io.micrometer..",
                            "org.slf4j..",
                            "com.google.errorprone.annotations..",
                            "org.jspecify.annotations.."))));
    check(
        noClasses()
            .that(resideOutsideOf(MICROMETER, SPRING_BOOT))
            .should()
            .dependOnClassesThat()
            .resideInAPackage("io.micrometer.."));
  }

  @Test
  void anAdapterKnowsTheApiAndTheInterfaceThatItImplements() {
    check(
        classes()
            .that()
            .resideInAPackage(SHEDLOCK)
            .should()
            .onlyDependOnClassesThat(
                jdkOr("dev.interlock")
                    .or(equivalentTo(DelayedTasks.class)) // ends leases of its own accord
                    .or(equivalentTo(DeferrableLease.class)) // lockAtLeastFor
                    .or(
                        resideInAnyPackage(
                            SHEDLOCK,
                            "net.javacrumbs.shedlock.core",
                            "org.slf4j",
                            "com.google.errorprone.annotations..",
                            "org.jspecify.annotations"))));
    check(
        classes()
            .that()
            .resideInAPackage(SPRING_INTEGRATION)
            .should()
            .onlyDependOnClassesThat(
                jdkOr("dev.interlock")
                    .or(
                        resideInAnyPackage(
                            SPRING_INTEGRATION,
                            "org.springframework.integration.support.locks",
                            "org.springframework.dao",
                            "org.jspecify.annotations"))));
  }

  @Test
  void aBackendKnowsTheApiAndNoOtherBackend() {
    for (String backend : BACKENDS) {
      String[] others =
          Stream.of(BACKENDS)
              .filter(other -> !other.equals(backend))
              // Redlock is several independent Redis servers, each asked with the same scripts.
              .filter(other -> !(backend.contains("redlock") && other.contains(".redis.")))
              .toArray(String[]::new);
      check(
          noClasses()
              .that()
              .resideInAPackage(backend)
              .should()
              .dependOnClassesThat(resideInAnyPackage(others).or(resideInAnyPackage(TCK, TESTBED)))
              .allowEmptyShould(true));
    }
  }

  /** Two versions of Java would store one lock under two keys, and both hold it. */
  @Test
  void nothingThatTwoVersionsOfJavaAnswerDifferentlyDecidesWhatIsStored() {
    check(
        noClasses()
            .that(resideInAnyPackage(API).or(resideInAnyPackage(BACKENDS)))
            .should()
            .callMethodWhere(
                target(owner(assignableTo(Character.class))).and(target(nameMatching(TABLES))))
            .orShould()
            .dependOnClassesThat(belongToAnyOf(Normalizer.class, Collator.class)));
  }

  @Test
  void theKitKnowsNoBackendAndNoServer() {
    check(
        noClasses()
            .that()
            .resideInAPackage(TCK)
            .should()
            .dependOnClassesThat(resideInAnyPackage(BACKENDS).or(resideInAPackage(TESTBED))));
  }

  /** This includes the package {@code kit}, which presents the servers in the kit's form. */
  @Test
  void theTestbedKnowsNothingOfLocks() {
    DescribedPredicate<JavaClass> others =
        resideInAPackage("dev.interlock..").and(not(resideInAPackage(TESTBED)));
    DescribedPredicate<JavaClass> kit = resideInAPackage("dev.interlock.testbed.kit");
    check(
        noClasses()
            .that(resideInAPackage(TESTBED).and(not(kit)))
            .should()
            .dependOnClassesThat(
                others.and(not(belongToAnyOf(ProcessSignals.class, StderrLogger.class))).or(kit)));
    check(
        noClasses()
            .that(kit)
            .should()
            .dependOnClassesThat(
                others.and(
                    not(
                        belongToAnyOf(
                            Server.class, ServerNode.class, StoreView.class, Permissions.class)))));
  }

  @Test
  void theCommandLineFindsBackendsByServiceLoaderOnly() {
    check(
        noClasses()
            .that()
            .resideInAPackage(CLI)
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(BACKENDS));
  }

  @Test
  void theReportsKnowNoBackend() {
    check(
        noClasses()
            .that()
            .resideInAnyPackage(REPORT, COMPARE, STORM)
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(BACKENDS));
  }

  @Test
  void theComparisonAndTheStormShareAModuleAndDoNotKnowEachOther() {
    check(
        noClasses()
            .that()
            .resideInAPackage(REPORT)
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(COMPARE, STORM));
    check(
        noClasses()
            .that()
            .resideInAPackage(COMPARE)
            .should()
            .dependOnClassesThat()
            .resideInAPackage(STORM));
    check(
        noClasses()
            .that()
            .resideInAPackage(STORM)
            .should()
            .dependOnClassesThat()
            .resideInAPackage(COMPARE));
  }

  @Test
  void noModuleKnowsTheCommandLine() {
    check(
        noClasses()
            .that(resideOutsideOf(CLI))
            .should()
            .dependOnClassesThat()
            .resideInAPackage(CLI));
  }

  private static void check(ArchRule rule) {
    rule.check(project);
  }

  private static DescribedPredicate<JavaClass> resideOutsideOf(String... packages) {
    return not(resideInAnyPackage(packages));
  }

  private static DescribedPredicate<JavaClass> jdkOr(String... packages) {
    return DescribedPredicate.describe(
        "are of the JDK or of " + String.join(", ", packages),
        type -> {
          JavaClass base = type.getBaseComponentType();
          return base.isPrimitive()
              || resideInAnyPackage("java..", "javax..").test(base)
              || resideInAnyPackage(packages).test(base);
        });
  }

  private static DescribedPredicate<JavaClass> areOpenToOthers() {
    return DescribedPredicate.describe(
        "are public or protected, with all that enclose them",
        type -> {
          for (JavaClass at = type; at != null; at = at.getEnclosingClass().orElse(null)) {
            if (!isOpen(at.getModifiers())) {
              return false;
            }
          }
          return true;
        });
  }

  private static boolean isOpen(Set<JavaModifier> modifiers) {
    return modifiers.contains(JavaModifier.PUBLIC) || modifiers.contains(JavaModifier.PROTECTED);
  }

  private static ArchCondition<JavaClass> haveOnlyInSignatures(
      DescribedPredicate<JavaClass> allowed) {
    return new ArchCondition<>("have in their public signatures only types that " + allowed) {
      @Override
      public void check(JavaClass type, ConditionEvents events) {
        Stream.concat(type.getRawSuperclass().stream(), type.getRawInterfaces().stream())
            .forEach(used -> report(type, type.getFullName(), used, events));
        type.getTypeParameters().stream()
            .flatMap(parameter -> parameter.getAllInvolvedRawTypes().stream())
            .forEach(used -> report(type, type.getFullName(), used, events));
        type.getMembers().stream()
            .filter(member -> isOpen(member.getModifiers()))
            .forEach(
                member ->
                    typesOf(member)
                        .forEach(used -> report(type, member.getFullName(), used, events)));
      }

      private void report(JavaClass type, String where, JavaClass used, ConditionEvents events) {
        if (!allowed.test(used)) {
          events.add(SimpleConditionEvent.violated(type, where + " mentions " + used.getName()));
        }
      }
    };
  }

  private static Stream<JavaClass> typesOf(JavaMember member) {
    if (member instanceof JavaField field) {
      return field.getAllInvolvedRawTypes().stream();
    }
    JavaCodeUnit unit = (JavaCodeUnit) member;
    return Stream.concat(
        unit.getAllInvolvedRawTypes().stream(),
        unit.getThrowsClause().stream().map(thrown -> thrown.getRawType()));
  }
}
