package agent.policy.model;

import agent.policy.request.HttpRequest;
import java.util.List;
import java.util.Map;

/**
 * An HTTP request.
 *
 * @param authority the host, with a port or without
 * @param headers the values of the lines by names in lower case
 */
public record NaiveRequest(
    String method, String path, String authority, Map<String, List<String>> headers)
    implements HttpRequest {
  @Override
  public String host() {
    return authority.split(":", 2)[0];
  }

  private List<String> lines(String name) {
    return headers.getOrDefault(name.toLowerCase(java.util.Locale.ROOT), List.of());
  }

  @Override
  public boolean hasHeader(String name, String value) {
    final List<String> lines = lines(name);
    return !lines.isEmpty()
        && (value == null
            || lines.stream().allMatch(value::equals) && value.equals(String.join(", ", lines)));
  }

  @Override
  public boolean hasHeaderLine(String name, String value) {
    return lines(name).contains(value);
  }
}
