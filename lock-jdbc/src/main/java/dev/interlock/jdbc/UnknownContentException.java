package dev.interlock.jdbc;

import java.sql.SQLException;

/** Thrown if the table has contents that this version of Interlock does not write. */
final class UnknownContentException extends SQLException {

  private static final long serialVersionUID = 1L;

  UnknownContentException(String content) {
    super(content);
  }
}
