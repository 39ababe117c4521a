package agent.policy.model;

import agent.policy.request.HttpRequest;
import java.util.Map;

/**
 * An HTTP request.
 *
 * @param headers values by names in lower case
 */
public record NaiveRequest(String method, String path, String host, Map<String, String> headers)
    implements HttpRequest {
  @Override
  public boolean hasHeader(String name, String value) {
    final String found = headers.get(name.toLowerCase(java.util.Locale.ROOT));
    return found != null && (value == null || value.equals(found));
  }
}
