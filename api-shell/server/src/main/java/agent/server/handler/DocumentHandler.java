package agent.server.handler;

import agent.contract.WireFormat;
import agent.server.Answer;
import agent.server.ApiHandler;
import agent.server.Route;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** The route of the OpenAPI document. */
public final class DocumentHandler implements ApiHandler.Group {
  private static final int OK = 200;

  @Override
  public void addTo(Map<Route, ApiHandler> handlers) {
    handlers.put(
        Route.GET_OPENAPI,
        request -> new Answer(OK, new Answer.Text("application/yaml", document())));
  }

  /** Reads the document from the jar: it is asked for seldom, and so is not kept. */
  private static String document() {
    try (InputStream in = WireFormat.class.getResourceAsStream("/openapi.yaml")) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
