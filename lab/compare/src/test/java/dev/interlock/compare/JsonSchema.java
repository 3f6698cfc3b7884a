package dev.interlock.compare;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import java.util.ArrayList;
import java.util.List;

/**
 * Checks the part of JSON Schema that our schema uses: type, enum, const, required, properties,
 * additionalProperties, items, and references to its own definitions. An unknown keyword is a
 * violation, so that no keyword is ignored.
 */
final class JsonSchema {
  private static final List<String> COMMENTS =
      List.of("$schema", "$id", "$defs", "title", "description");

  private final JsonObject root;
  private final List<String> violations = new ArrayList<>();

  JsonSchema(JsonObject root) {
    this.root = root;
  }

  /** {@return the violations of the schema by a document} */
  List<String> violations(JsonElement document) {
    check("", root, document);
    return violations;
  }

  private void check(String path, JsonObject schema, JsonElement value) {
    for (String keyword : schema.keySet()) {
      JsonElement operand = schema.get(keyword);
      switch (keyword) {
        case "$ref" -> check(path, definition(operand.getAsString()), value);
        case "type" ->
            require(isOfType(value, operand.getAsString()), path, "is not of type " + operand);
        case "const" -> require(value.equals(operand), path, "is not " + operand);
        case "enum" ->
            require(operand.getAsJsonArray().contains(value), path, "is none of " + operand);
        case "required" -> {
          for (JsonElement name : operand.getAsJsonArray()) {
            require(value.getAsJsonObject().has(name.getAsString()), path, "has no " + name);
          }
        }
        case "properties" -> {
          for (String name : value.getAsJsonObject().keySet()) {
            if (operand.getAsJsonObject().has(name)) {
              check(
                  path + "/" + name,
                  operand.getAsJsonObject().getAsJsonObject(name),
                  value.getAsJsonObject().get(name));
            }
          }
        }
        case "additionalProperties" -> {
          for (String name : value.getAsJsonObject().keySet()) {
            boolean isDeclared =
                schema.has("properties") && schema.getAsJsonObject("properties").has(name);
            if (!isDeclared && operand.isJsonObject()) {
              check(
                  path + "/" + name, operand.getAsJsonObject(), value.getAsJsonObject().get(name));
            } else {
              require(isDeclared || operand.isJsonObject(), path, "has the unknown field " + name);
            }
          }
        }
        case "items" -> {
          JsonArray array = value.getAsJsonArray();
          for (int i = 0; i < array.size(); i++) {
            check(path + "/" + i, operand.getAsJsonObject(), array.get(i));
          }
        }
        default ->
            require(
                COMMENTS.contains(keyword),
                path,
                "has a schema with the unknown keyword " + keyword);
      }
    }
  }

  private JsonObject definition(String reference) {
    return root.getAsJsonObject("$defs").getAsJsonObject(reference.replace("#/$defs/", ""));
  }

  private void require(boolean condition, String path, String violation) {
    if (!condition) {
      violations.add(path + " " + violation);
    }
  }

  private static boolean isOfType(JsonElement value, String type) {
    return switch (type) {
      case "object" -> value.isJsonObject();
      case "array" -> value.isJsonArray();
      case "string" -> value instanceof JsonPrimitive primitive && primitive.isString();
      case "boolean" -> value instanceof JsonPrimitive primitive && primitive.isBoolean();
      case "number" -> value instanceof JsonPrimitive primitive && primitive.isNumber();
      case "integer" ->
          value instanceof JsonPrimitive primitive
              && primitive.isNumber()
              && primitive.getAsDouble() == Math.rint(primitive.getAsDouble());
      default -> false;
    };
  }
}
