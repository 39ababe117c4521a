package agent.l7proxy;

import io.netty.handler.codec.http.HttpResponseStatus;

/** A request that is refused before policy is asked; the message says what is wrong with it. */
final class BadRequestException extends Exception {
  private static final long serialVersionUID = 1L;

  private final transient HttpResponseStatus status;

  BadRequestException(String message) {
    this(HttpResponseStatus.BAD_REQUEST, message);
  }

  BadRequestException(HttpResponseStatus status, String message) {
    super(message, null, false, false);
    this.status = status;
  }

  /** Returns the failure of a decoder. */
  static BadRequestException of(Throwable failure) {
    return failure instanceof BadRequestException bad
        ? bad
        : new BadRequestException(failure.getMessage());
  }

  /** Returns the status of the answer. */
  HttpResponseStatus status() {
    return status;
  }
}
