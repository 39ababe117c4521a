package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http2.Http2Settings;
import java.util.Base64;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which requests offer HTTP/2, and with which settings. */
class Http2OfferTest {
  private final DefaultHttpRequest get = request(HttpVersion.HTTP_1_1, "GET");

  private static DefaultHttpRequest request(HttpVersion version, String method) {
    final DefaultHttpRequest request =
        new DefaultHttpRequest(version, HttpMethod.valueOf(method), "/");
    request.headers().set("Connection", "Upgrade, HTTP2-Settings").set("Upgrade", "h2c");
    return settings(request, "");
  }

  private static DefaultHttpRequest settings(DefaultHttpRequest request, String hex) {
    request
        .headers()
        .set("HTTP2-Settings", Base64.getUrlEncoder().encodeToString(HexFormat.of().parseHex(hex)));
    return request;
  }

  @Test
  void shouldTakeTheSettingsThatThereAre() {
    final String before = "000000000001";
    final String all = "000100000400" + "000300000064" + "00067fffffff";
    final String behind = "000700000001";
    final Http2Settings wanted =
        new Http2Settings().headerTableSize(1024).maxConcurrentStreams(100);
    assertEquals(
        wanted.maxHeaderListSize(Integer.MAX_VALUE),
        Http2Upgrade.offered(settings(get, before + all + behind)));
    assertEquals(new Http2Settings(), Http2Upgrade.offered(settings(get, "")));
    assertNull(Http2Upgrade.offered(settings(get, all + "00")));
  }

  @ParameterizedTest
  @CsvSource({
    "Content-Length, 0, true",
    "Content-Length, 5, false",
    "Transfer-Encoding, chunked, false",
    "Connection, close, false",
    "X-Other, 5, true"
  })
  void shouldTakeNoRequestWithABodyOrOfAConnectionThatEnds(
      String name, String value, boolean isOffer) {
    get.headers().add(name, value);
    assertEquals(isOffer ? new Http2Settings() : null, Http2Upgrade.offered(get));
  }

  @Test
  void shouldTakeNoConnectNorHttp10() {
    assertNull(Http2Upgrade.offered(request(HttpVersion.HTTP_1_1, "CONNECT")));
    assertNull(Http2Upgrade.offered(request(HttpVersion.HTTP_1_0, "GET")));
  }
}
