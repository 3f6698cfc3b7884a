package dev.interlock.spring;

import java.net.InetAddress;
import java.util.Arrays;
import java.util.Date;
import java.util.List;
import java.util.Set;
import java.util.TimeZone;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.BeanUtils;
import org.springframework.expression.EvaluationContext;
import org.springframework.expression.EvaluationException;
import org.springframework.expression.Expression;
import org.springframework.expression.ParseException;
import org.springframework.expression.common.CompositeStringExpression;
import org.springframework.expression.common.LiteralExpression;
import org.springframework.expression.common.TemplateParserContext;
import org.springframework.expression.spel.ExpressionState;
import org.springframework.expression.spel.SpelNode;
import org.springframework.expression.spel.ast.BeanReference;
import org.springframework.expression.spel.ast.Elvis;
import org.springframework.expression.spel.ast.OpPlus;
import org.springframework.expression.spel.ast.Ternary;
import org.springframework.expression.spel.ast.VariableReference;
import org.springframework.expression.spel.standard.SpelExpression;
import org.springframework.expression.spel.standard.SpelExpressionParser;

/** The name of a lock, made of text and expressions. */
final class NameExpression {

  private static final SpelExpressionParser PARSER = new SpelExpressionParser();
  private static final Set<String> ROOTS = Set.of("root", "this");

  private final List<Expression> parts;

  private NameExpression(List<Expression> parts) {
    this.parts = parts;
  }

  /**
   * Reads text with expressions in {@code #{...}}.
   *
   * @throws IllegalArgumentException if an expression is malformed
   */
  static NameExpression ofTemplate(String text) {
    Expression whole = parse(text, true);
    return new NameExpression(
        whole instanceof CompositeStringExpression composite
            ? Arrays.asList(composite.getExpressions())
            : List.of(whole));
  }

  /**
   * Reads one expression.
   *
   * @throws IllegalArgumentException if it is malformed
   */
  static NameExpression ofExpression(String text) {
    return new NameExpression(List.of(parse(text, false)));
  }

  private static Expression parse(String text, boolean template) {
    if (text.isBlank()) {
      throw new IllegalArgumentException("the name of the lock is empty");
    }
    try {
      return template
          ? PARSER.parseExpression(text, new TemplateParserContext())
          : PARSER.parseExpression(text);
    } catch (ParseException | IllegalStateException e) {
      throw new IllegalArgumentException(
          "\"" + text + "\" is not an expression: " + e.getMessage(), e);
    }
  }

  boolean isConstant() {
    return parts.stream().allMatch(LiteralExpression.class::isInstance);
  }

  /** Returns the names of the variables, except for those that every expression has. */
  Set<String> variables() {
    Set<String> variables = names(VariableReference.class);
    variables.removeAll(ROOTS);
    return variables;
  }

  Set<String> beans() {
    return names(BeanReference.class);
  }

  /** Returns the names after the {@code #} or {@code @} of nodes of a type, without quotes. */
  private Set<String> names(Class<? extends SpelNode> type) {
    return parts.stream()
        .filter(SpelExpression.class::isInstance)
        .flatMap(part -> nodes(((SpelExpression) part).getAST()))
        .filter(type::isInstance)
        .map(node -> node.toStringAST().substring(1).replaceAll("^'|'$", ""))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static Stream<SpelNode> nodes(SpelNode node) {
    return Stream.concat(
        Stream.of(node),
        IntStream.range(0, node.getChildCount())
            .mapToObj(node::getChild)
            .flatMap(NameExpression::nodes));
  }

  /**
   * Returns the name of the lock.
   *
   * @throws IllegalArgumentException if a part cannot be evaluated, or is not a simple value
   */
  String evaluate(@Nullable EvaluationContext context) {
    StringBuilder name = new StringBuilder();
    for (Expression part : parts) {
      name.append(
          part instanceof LiteralExpression literal
              ? literal.getExpressionString()
              : value(part, context));
    }
    return name.toString();
  }

  private static Object value(Expression part, @Nullable EvaluationContext context) {
    if (context == null) {
      throw new IllegalArgumentException("an expression can only be evaluated for a call");
    }
    String text = part.getExpressionString();
    try {
      return checked(
          text,
          part instanceof SpelExpression expression
              ? evaluate(expression.getAST(), new ExpressionState(context))
              : part.getValue(context));
    } catch (EvaluationException e) {
      throw new IllegalArgumentException(
          "the expression " + text + " failed: " + e.getMessage(), e);
    }
  }

  /**
   * Evaluates an expression as SpEL does, but also {@linkplain #checked checks} both sides of a
   * {@code +} whose result is text. SpEL alone evaluates {@code 'order-' + #id} to "order-null".
   */
  private static @Nullable Object evaluate(SpelNode node, ExpressionState state) {
    if (node instanceof OpPlus && node.getChildCount() == 2) {
      Object leftOperand = evaluate(node.getChild(0), state);
      Object rightOperand = evaluate(node.getChild(1), state);
      if (leftOperand instanceof String || rightOperand instanceof String) {
        return ""
            + checked(node.getChild(0).toStringAST(), leftOperand)
            + checked(node.getChild(1).toStringAST(), rightOperand);
      }
    } else if (node instanceof Ternary
        && node.getChild(0).getValue(state) instanceof Boolean condition) {
      return evaluate(node.getChild(condition ? 1 : 2), state);
    } else if (node instanceof Elvis) {
      Object value = evaluate(node.getChild(0), state);
      return value == null || value.equals("") ? evaluate(node.getChild(1), state) : value;
    }
    return node.getValue(state);
  }

  private static Object checked(String expression, @Nullable Object value) {
    if (value == null) {
      throw new IllegalArgumentException(
          "the expression " + expression + " is null; it must give the name of the lock");
    }
    if (!BeanUtils.isSimpleValueType(value.getClass())) {
      throw new IllegalArgumentException(
          "the expression %s gives a %s; it must give text, a number, an enum, a date of java.time or a UUID"
              .formatted(expression, value.getClass().getName()));
    }
    String reason = reasonTextVaries(value);
    if (reason != null) {
      throw new IllegalArgumentException(
          "the expression %s gives a %s, whose text depends on %s"
              .formatted(expression, value.getClass().getName(), reason));
    }
    return value;
  }

  /** Returns the reason why a value's text varies and what to use instead; null if it does not. */
  private static @Nullable String reasonTextVaries(Object value) {
    if (value instanceof Date) {
      return "the machine's time zone; use a class of java.time, or its property time";
    }
    if (value instanceof Double || value instanceof Float) {
      return "the version of Java; use a whole number, a BigDecimal, or text";
    }
    if (value instanceof TimeZone) {
      return "the JVM's table of time zones; use its property ID";
    }
    if (value instanceof InetAddress) {
      return "whether its host name is known; use its property hostAddress";
    }
    return null;
  }
}
