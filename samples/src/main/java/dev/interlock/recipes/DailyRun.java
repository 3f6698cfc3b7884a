package dev.interlock.recipes;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.LocalDate;

/** Records in the database for which day a job has run. */
final class DailyRun {
  private DailyRun() {}

  /** Call in the transaction of the job; returns false if the job has been done for the day. */
  static boolean begin(Connection transaction, String job, LocalDate day) throws SQLException {
    try (PreparedStatement update =
        transaction.prepareStatement(
            "UPDATE daily_run SET last_day = ? WHERE job = ? AND last_day < ?")) {
      update.setObject(1, day);
      update.setString(2, job);
      update.setObject(3, day);
      return update.executeUpdate() == 1;
    }
  }
}
