package dev.interlock.report;

import com.google.gson.annotations.SerializedName;
import java.math.BigDecimal;
import java.math.MathContext;
import java.util.Locale;

/**
 * The unit of a measured number. Numbers are stored in these units and displayed with prefixes,
 * such as ms and kB.
 */
public enum Unit {
  @SerializedName("s")
  SECONDS,
  @SerializedName("1/s")
  PER_SECOND,
  @SerializedName("B")
  BYTES,
  @SerializedName("1")
  COUNT,
  @SerializedName("ratio")
  RATIO;

  private static final MathContext TWO_DIGITS = new MathContext(2);

  /** {@return the number with three significant digits and its unit} */
  public String format(double value) {
    if (Double.isNaN(value)) {
      return "–";
    }
    return switch (this) {
      case SECONDS -> seconds(value);
      case PER_SECOND -> digits(value) + " /s";
      case BYTES -> bytes(value);
      case COUNT -> digits(value);
      case RATIO -> digits(value) + " ×";
    };
  }

  /** {@return a round number in a form that is short enough for the axis of a chart} */
  public String formatForAxis(double value) {
    if (this == PER_SECOND || this == COUNT) {
      String unit = this == PER_SECOND ? "/s" : "";
      if (value >= 1e6) {
        return digits(value / 1e6) + " M" + unit;
      } else if (value >= 1e3) {
        return digits(value / 1e3) + " k" + unit;
      }
    }
    return format(value);
  }

  private static String seconds(double seconds) {
    double size = Math.abs(seconds);
    if (size == 0) {
      return "0 s";
    } else if (size < 1e-6) {
      return digits(seconds * 1e9) + " ns";
    } else if (size < 1e-3) {
      return digits(seconds * 1e6) + " µs";
    } else if (size < 1) {
      return digits(seconds * 1e3) + " ms";
    }
    return digits(seconds) + " s";
  }

  private static String bytes(double bytes) {
    double size = Math.abs(bytes);
    if (size < 1e4) {
      return digits(bytes) + " B";
    } else if (size < 1e7) {
      return digits(bytes / 1e3) + " kB";
    }
    return size < 1e10 ? digits(bytes / 1e6) + " MB" : digits(bytes / 1e9) + " GB";
  }

  private static String digits(double value) {
    double size = Math.abs(value);
    if (size >= 1e7) {
      return String.format(Locale.ROOT, "%.3g M", value / 1e6);
    } else if (size >= 99.95) {
      return grouped(Math.round(value));
    } else if (value == Math.rint(value)) {
      return Long.toString((long) value);
    } else if (size >= 9.995) {
      return String.format(Locale.ROOT, "%.1f", value);
    } else if (size < 0.0995) {
      return new BigDecimal(value).round(TWO_DIGITS).toPlainString();
    }
    return String.format(Locale.ROOT, "%.2f", value);
  }

  /** Separates thousands by a thin space if there are more than four digits. */
  private static String grouped(long value) {
    return Math.abs(value) < 10_000
        ? Long.toString(value)
        : String.format(Locale.ROOT, "%,d", value).replace(',', '\u202f');
  }
}
