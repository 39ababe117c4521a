package agent.l7proxy;

import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseEncoder;

/** Writes responses; one to HEAD has no body, whatever its header says. */
final class ResponseEncoder extends HttpResponseEncoder {
  private boolean isHead;

  /** Sets whether the next response answers HEAD. */
  void answersHead(boolean value) {
    isHead = value;
  }

  @Override
  protected boolean isContentAlwaysEmpty(HttpResponse response) {
    return isHead || super.isContentAlwaysEmpty(response);
  }
}
