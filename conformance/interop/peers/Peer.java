// A TLS echo server and a stdin/stdout TLS client over Java's JSSE. The command line is described
// in src/programs/driver.rs.

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;

public class Peer {
    private static final char[] PASSWORD = "unused".toCharArray();
    private static final Map<String, String> options = new HashMap<>();
    private static volatile boolean finished;

    public static void main(String[] args) {
        for (int i = 1; i + 1 < args.length; i += 2) {
            options.put(args[i].substring(2), args[i + 1]);
        }
        try {
            switch (args[0]) {
                case "abilities" -> abilities();
                case "serve" -> serve();
                case "connect" -> connect();
                default -> throw new IllegalArgumentException(args[0]);
            }
        } catch (Exception error) {
            fail(error);
        }
    }

    private static void abilities() {
        System.out.println("keys rsa2048 p256 p384 p521 ed25519");
        System.out.println("groups x25519 secp256r1 secp384r1 secp521r1");
        System.out.println("limits group hybrid suite1.2 suite1.3");
        String resumption = "resume-1.2-ticket resume-1.2-id resume-1.3-stateless resume-1.3-stateful";
        System.out.println("as-client " + resumption);
        System.out.println("as-server " + resumption);
    }

    private static void serve() throws Exception {
        SSLContext context = context(options.get("client-ca"));
        InetAddress loopback = InetAddress.getByName("127.0.0.1");
        SSLServerSocket listener = (SSLServerSocket)
                context.getServerSocketFactory().createServerSocket(port(), 1, loopback);
        SSLParameters parameters = listener.getSSLParameters();
        parameters.setNeedClientAuth(options.containsKey("client-ca"));
        limit(parameters);
        listener.setSSLParameters(parameters);
        while (true) {
            try (SSLSocket socket = (SSLSocket) listener.accept()) {
                long start = System.currentTimeMillis();
                socket.startHandshake();
                tell(socket, start);
                copy(socket.getInputStream(), socket.getOutputStream());
            } catch (IOException refused) {
                System.err.println(refused);
            }
        }
    }

    private static void connect() throws Exception {
        SSLContext context = context(options.get("ca"));
        int connections = Integer.parseInt(options.getOrDefault("connections", "1"));
        for (int i = 1; i < connections; i++) {
            sayAndHear(context);
        }
        SSLSocket socket = connected(context);
        Thread writer = new Thread(() -> {
            try {
                copy(System.in, socket.getOutputStream());
                finished = true;
                socket.shutdownOutput();
            } catch (Exception error) {
                fail(error);
            }
        });
        writer.setDaemon(true);
        writer.start();
        copy(socket.getInputStream(), System.out);
        if (!finished) {
            throw new IllegalStateException("the server ended first");
        }
    }

    /** Makes a connection whose session the next one resumes. The echo of a line proves that tickets have arrived. */
    private static void sayAndHear(SSLContext context) throws Exception {
        byte[] words = {'0', '1', '2', '3', '\n'};
        try (SSLSocket socket = connected(context)) {
            socket.getOutputStream().write(words);
            System.out.write(socket.getInputStream().readNBytes(words.length));
            System.out.flush();
        }
        // JSSE distinguishes sessions by their creation time in milliseconds.
        Thread.sleep(20);
    }

    private static SSLSocket connected(SSLContext context) throws Exception {
        long start = System.currentTimeMillis();
        Socket plain = new Socket("127.0.0.1", port());
        SSLSocket socket = (SSLSocket)
                context.getSocketFactory().createSocket(plain, options.get("name"), port(), true);
        SSLParameters parameters = socket.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        limit(parameters);
        socket.setSSLParameters(parameters);
        socket.startHandshake();
        tell(socket, start);
        return socket;
    }

    /** Whether a session was resumed, which means that it is older than the connection: JSSE does not report it. */
    private static void tell(SSLSocket socket, long start) {
        boolean resumed = socket.getSession().getCreationTime() < start;
        System.err.println("resumed " + (resumed ? "yes" : "no"));
    }

    private static void copy(InputStream from, OutputStream to) throws Exception {
        byte[] buffer = new byte[16384];
        for (int count; (count = from.read(buffer)) > 0; ) {
            to.write(buffer, 0, count);
            to.flush();
        }
    }

    private static void limit(SSLParameters parameters) {
        String version = options.get("version");
        parameters.setProtocols(version == null
                ? new String[] {"TLSv1.3", "TLSv1.2"} : new String[] {"TLSv" + version});
        if (options.containsKey("suite")) {
            parameters.setCipherSuites(new String[] {options.get("suite")});
        }
    }

    private static SSLContext context(String roots) throws Exception {
        if (options.containsKey("group")) {
            // JSSE reads this property once, when it is first used.
            System.setProperty("jdk.tls.namedGroups", options.get("group"));
        }
        if (options.containsKey("feature")) {
            String stateless = String.valueOf(
                    !List.of("resume-1.2-id", "resume-1.3-stateful").contains(options.get("feature")));
            System.setProperty("jdk.tls.client.enableSessionTicketExtension", stateless);
            System.setProperty("jdk.tls.server.enableSessionTicketExtension", stateless);
        }
        KeyManager[] keys = null;
        if (options.containsKey("cert")) {
            KeyStore store = emptyStore();
            Certificate[] chain = certificates(options.get("cert"));
            store.setKeyEntry("own", privateKey(options.get("key")), PASSWORD, chain);
            KeyManagerFactory factory = KeyManagerFactory.getInstance("PKIX");
            factory.init(store, PASSWORD);
            keys = factory.getKeyManagers();
        }
        TrustManager[] trust = null;
        if (roots != null) {
            KeyStore store = emptyStore();
            for (Certificate root : certificates(roots)) {
                store.setCertificateEntry("root " + store.size(), root);
            }
            TrustManagerFactory factory = TrustManagerFactory.getInstance("PKIX");
            factory.init(store);
            trust = factory.getTrustManagers();
        }
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys, trust, null);
        return context;
    }

    private static KeyStore emptyStore() throws Exception {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        return store;
    }

    private static Certificate[] certificates(String file) throws Exception {
        byte[] pem = Files.readAllBytes(Path.of(file));
        return CertificateFactory.getInstance("X.509")
                .generateCertificates(new ByteArrayInputStream(pem)).toArray(new Certificate[0]);
    }

    private static PrivateKey privateKey(String file) throws Exception {
        String pem = Files.readString(Path.of(file));
        byte[] der = Base64.getMimeDecoder().decode(pem.replaceAll("-----[A-Z ]+-----", ""));
        for (String algorithm : new String[] {"EC", "RSA", "Ed25519"}) {
            try {
                return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(der));
            } catch (GeneralSecurityException otherKind) {
                // The key may fit the next algorithm. The exception below is thrown if it fits none.
            }
        }
        throw new IllegalArgumentException("no usable key in " + file);
    }

    private static int port() {
        return Integer.parseInt(options.get("port"));
    }

    private static void fail(Exception error) {
        System.err.println(error);
        Runtime.getRuntime().halt(1);
    }
}
