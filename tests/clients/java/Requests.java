import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Base64;

/**
 * Sends requests with Java's own HTTP client, which offers an upgrade to HTTP/2 with each request over plain HTTP unless
 * it is told otherwise, and keeps its connections.
 *
 * <p>Arguments: the address of the server, the password of main/admin, the id of a device, and the number of requests.
 */
public final class Requests {
    public static void main(String[] arguments) throws InterruptedException {
        String base = arguments[0];
        byte[] credentials = ("main/admin:" + arguments[1]).getBytes();
        String authorization = "Basic " + Base64.getEncoder().encodeToString(credentials);
        String event = "{\"type\":\"acme_Java\",\"text\":\"sent\",\"time\":\"2026-01-01T00:00:00Z\",\"source\":{\"id\":\""
            + arguments[2] + "\"}}";
        int count = Integer.parseInt(arguments[3]);
        HttpClient client = HttpClient.newHttpClient();
        int failed = 0;
        for (int n = 0; n < count; n += 1) {
            HttpRequest.Builder request = HttpRequest.newBuilder().header("Authorization", authorization)
                .header("Accept", "application/json");
            if (n % 2 == 0) {
                request.uri(URI.create(base + "/event/events?pageSize=1")).GET();
            } else {
                request.uri(URI.create(base + "/event/events")).header("Content-Type", "application/json")
                    .POST(HttpRequest.BodyPublishers.ofString(event));
            }
            int expected = n % 2 == 0 ? 200 : 201;
            try {
                HttpResponse<String> response = client.send(request.build(), HttpResponse.BodyHandlers.ofString());
                if (response.statusCode() != expected) {
                    failed += 1;
                    System.err.println("request " + n + ": " + response.statusCode() + " " + response.body());
                }
            } catch (IOException lost) {
                failed += 1;
                System.err.println("request " + n + ": " + lost);
            }
        }
        System.out.println(failed + " of " + count + " failed");
        System.exit(failed == 0 ? 0 : 1);
    }
}
