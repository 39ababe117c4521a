package agent.server;

import agent.fuzz.FuzzInputs;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Collectors;

/** Paths and queries of requests. */
public final class RequestTargetFuzz {
  /** Inputs to start from. */
  public static final List<byte[]> SEEDS =
      FuzzInputs.texts(
          "/endpoint/7",
          "/endpoint?labels=k8s%3Aapp&labels=b",
          "http://localhost/map/a%20b?x",
          "/%2f",
          "/%",
          "/a+b?c=d+e&&=",
          "/%c3%a4",
          "/%ff",
          "*",
          "/a?b=%00");

  private RequestTargetFuzz() {}

  /** Reads a target with its query. */
  public static void fuzzerTestOneInput(byte[] input) {
    final String[] parts = FuzzInputs.text(input).split("\\?", 2);
    final RequestTarget target;
    try {
      target = RequestTarget.parse(parts[0], parts.length > 1 ? parts[1] : null);
    } catch (HttpRefusal refused) {
      return;
    }
    final String path =
        target.segments().stream()
            .map(RequestTargetFuzz::escaped)
            .collect(Collectors.joining("/", "/", ""));
    final String query =
        target.query().entrySet().stream()
            .flatMap(
                parameter ->
                    parameter.getValue().stream()
                        .map(value -> escaped(parameter.getKey()) + "=" + escaped(value)))
            .collect(Collectors.joining("&"));
    FuzzInputs.assertSame(target, RequestTarget.parse(path, query), path + "?" + query);
  }

  private static String escaped(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
  }
}
