package agent.types;

import java.util.Objects;

/**
 * A caller's request that is refused. The message is ready for the caller: it names the field and
 * says what is wrong with it, for example {@code addressing.ipv4: '10.0.0.999' is not an IPv4
 * address}. An operation that was tried and failed is an {@link OperationException}.
 */
public final class Refusal extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** Why it is refused; the API maps each kind to a status code. */
  public enum Kind {
    /** A value is malformed or out of range. */
    INVALID,
    /** The subject does not exist. */
    NOT_FOUND,
    /** The subject is in use or exists already. */
    CONFLICT,
    /** A pool, a number range or a map is full. */
    EXHAUSTED,
    /** The feature or address family is switched off. */
    DISABLED,
    /** It cannot be served now; the caller may try again later. */
    UNAVAILABLE,
    /** The request was based on an old revision. */
    STALE,
    /** It is more than the agent holds; an option sets the limit. */
    OVER_LIMIT
  }

  private final Kind kind;
  private final String field;
  private final String reason;

  private Refusal(Kind kind, String field, String reason, Throwable cause) {
    super(field.isEmpty() ? reason : field + ": " + reason, cause);
    this.kind = kind;
    this.field = field;
    this.reason = reason;
  }

  /**
   * Returns a refusal.
   *
   * @param kind why
   * @param field the field of the request, or an empty string where the whole request is meant
   * @param reason what is wrong, without the field
   * @return the exception to throw
   */
  public static Refusal of(Kind kind, String field, String reason) {
    return new Refusal(kind, Objects.requireNonNull(field), reason, null);
  }

  /**
   * Returns a refusal that was caused by another failure.
   *
   * @param kind why
   * @param field the field of the request, or an empty string where the whole request is meant
   * @param reason what is wrong, without the field
   * @param cause the failure behind it
   * @return the exception to throw
   */
  public static Refusal of(Kind kind, String field, String reason, Throwable cause) {
    return new Refusal(kind, Objects.requireNonNull(field), reason, cause);
  }

  /** {@link Kind#INVALID}: {@code field: reason}. */
  public static Refusal invalid(String field, String reason) {
    return of(Kind.INVALID, field, reason);
  }

  /** {@link Kind#NOT_FOUND}: {@code field: reason}. */
  public static Refusal notFound(String field, String reason) {
    return of(Kind.NOT_FOUND, field, reason);
  }

  /** {@link Kind#CONFLICT}: {@code field: reason}. */
  public static Refusal conflict(String field, String reason) {
    return of(Kind.CONFLICT, field, reason);
  }

  /** {@link Kind#EXHAUSTED}: {@code field: reason}. */
  public static Refusal exhausted(String field, String reason) {
    return of(Kind.EXHAUSTED, field, reason);
  }

  /** {@link Kind#DISABLED}: {@code field: reason}. */
  public static Refusal disabled(String field, String reason) {
    return of(Kind.DISABLED, field, reason);
  }

  /** {@link Kind#UNAVAILABLE}: {@code field: reason}. */
  public static Refusal unavailable(String field, String reason) {
    return of(Kind.UNAVAILABLE, field, reason);
  }

  /** {@link Kind#STALE}: {@code field: reason}. */
  public static Refusal stale(String field, String reason) {
    return of(Kind.STALE, field, reason);
  }

  /** {@link Kind#OVER_LIMIT}: {@code field: reason}. */
  public static Refusal overLimit(String field, String reason) {
    return of(Kind.OVER_LIMIT, field, reason);
  }

  /** Returns why it is refused. */
  public Kind kind() {
    return kind;
  }

  /** Returns the field of the request; empty where the whole request is meant. */
  public String field() {
    return field;
  }

  /** Returns what is wrong, without the field. */
  public String reason() {
    return reason;
  }

  /**
   * Returns the same refusal for another field: that of a nested value, named by its path in the
   * document.
   */
  public Refusal at(String outerField) {
    return new Refusal(kind, outerField, reason, getCause());
  }
}
