package dev.interlock.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests the axes of charts. */
class ScaleTest {

  @Test
  void anAxisBeginsAndEndsWithRoundNumbers() {
    Scale scale = Scale.around(List.of(0.00013, 0.0021));
    assertEquals(0.0001, scale.ticks().get(0));
    assertEquals(0, scale.position(0.0001), 1e-9);
    assertEquals(1, scale.position(0.005), 1e-9);
  }

  @Test
  void anAxisAroundOneValueHasRoomForIt() {
    Scale scale = Scale.around(List.of(10.0));
    assertEquals(0, scale.position(10), 1e-9);
    assertEquals(List.of(10.0, 20.0), scale.ticks());
  }
}
