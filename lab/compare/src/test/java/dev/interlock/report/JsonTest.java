package dev.interlock.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests how records are read from resources. */
class JsonTest {

  /** A record with all fields of the objects. */
  record Whole(String name, List<Integer> numbers) {}

  /** A record that lacks a field of the objects. */
  record Shorter(String name) {}

  /** A record with a field that the objects lack. */
  record Longer(String name, List<Integer> numbers, String colour) {}

  @Test
  void eachObjectIsARecord() {
    assertEquals(
        List.of(new Whole("a", List.of(1, 2)), new Whole("b", List.of())),
        Json.read(Whole.class, "test.json"));
  }

  @ParameterizedTest
  @ValueSource(classes = {Shorter.class, Longer.class})
  void unknownAndMissingFieldsAreRefused(Class<? extends Record> type) {
    assertThrows(IllegalArgumentException.class, () -> Json.read(type, "test.json"));
  }
}
