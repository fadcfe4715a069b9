"""Isobar No. 43, November 2026: "Frost"."""
from generator.magazine import Charts, Feature, MagazineIssue, Notes, Plate, Table

ISSUE = MagazineIssue(
    slug="isobar-2026-11", month="November 2026", number="43", theme="The frost issue", price="4.99", accent="#4a4f9c",
    cover=("night", "night", "cover"),
    cover_lines=("Ferns on the window", "What trees do in the dark", "The village that stores summer", "A star map for cold hands"),
    editorial=("The door and the draught", (
        "The first frost is announced by the letter box, which squeaks. Then the gate, which sticks. By the time anyone has said the word aloud the "
        "whole street has already been told, one hinge at a time.",
        "Cold is an absence, the physicists say: there is only heat, and less of it. It does not feel like an absence. It feels like "
        "something that comes in and sits down.",
        "This issue is for the hour after it has. Put the kettle on and read the piece about ferns first.")),
    sections=(
        Feature("Ice", "Ferns on the window", "Every cold night a drawing appears on the glass that nobody made. The rules it follows fit "
                "on the back of a stamp.", (
            "Our grandparents' windows had them, and most of ours do not. To grow ferns of ice you need a single pane, a damp room and a night of about "
            "eight degrees of frost. The modern window is too warm on the inside, which is its purpose, and so a whole art has "
            "been lost to double glazing.",
            "What happens on the pane is this. Vapour in the air of the room touches glass colder than ice. It does not stop to be water. It "
            "settles straight into crystal, beginning at some scratch or speck of dust, and from there it grows.",
            "It grows at the tips. A tip that sticks out a little further than its neighbours reaches into damper air, is fed better, and so sticks "
            "out further still. Its neighbours, left behind in air that has already been picked over, starve. That is the first rule: those who "
            "are ahead get more.",
            "The second rule belongs to the ice. Its molecules lie in sixes, and a new arm likes to leave an old one at sixty degrees. So each spine puts out "
            "ribs on both sides at the same slant, and each rib, if there is room, puts out smaller ribs of its own.",
            "Two rules, and no plan. The first makes the ferns branch; the second makes them agree. The scratches left by years of "
            "window cleaning supply the rest, which is why an old pane makes better drawings than a new one, and why the same fern may come back in the same corner "
            "for a whole winter.",
            "Put a warm thumb on it and you make a round hole with a view of the garden. Wait ten minutes, and the tips around the edge will have started to cross it. "
            "They do not repair the old picture. They draw another, that has always had a hole in it."),
            (("frost", "frost", "North-facing pane, nine degrees of frost, five in the morning"), ("frost", "slate", "The same pane two nights later. The corner fern has come back."),
             dict(kind="curve", title="One night at the window", unit="Degrees on the inside of the glass, hour by hour", caption="Growth began soon after one, and stopped when the stove was lit at six.",
                  values=(("20", 6), ("22", 3), ("0", 1), ("1", 0), ("2", -2), ("3", -3), ("4", -5), ("5", -6), ("6", -4), ("7", 2)))),
            "They draw another, that has always had a hole in it."),
        Plate(("hills", "frost", "a"), "Below zero, above cloud", "The cold has run down into the valleys and lies there. Up here, at noon, one can take off a glove."),
        Feature("Woods", "What trees do in the dark", "They are not asleep. They are counting.", (
            "A tree that opened its buds on the first warm day of January would lose them by the second week. So it needs a way of telling a thaw from "
            "the spring, and its way is to keep a tally of the cold.",
            "Each hour near freezing adds a mark. Warm hours add none, and very cold ones add none either: they only stop the clock. An apple wants about a thousand marks. A "
            "beech wants more, and also wants the days to be long. Until the total is reached no amount of sunshine will persuade it.",
            "Nobody has quite found where the tally is written. It is somewhere in the buds, since a branch brought into a warm room "
            "in November will do nothing, while one cut in February flowers within the week.",
            "After a mild winter the sums do not come out. The trees hesitate, leaf late and unevenly, and bear badly. Gardeners blame the spring. It was November that was short."),
            (("forest", "frost", "Beeches, about two hundred hours in"),
             dict(kind="bars", title="Hours of cold wanted", unit="Before buds will open, in rough hundreds", caption="Compiled from orchard notebooks; sorts differ a good deal.",
                  values=(("Almond", 4), ("Peach", 7), ("Pear", 9), ("Apple", 10), ("Cherry", 12), ("Beech", 15)))),
            "They are not asleep. They are counting."),
        Charts("October, counted", "The month behind us: nineteen fogs, two frosts and a very good moon.", (
            dict(kind="bars", title="Rain by week", unit="Millimetres, mean of fourteen readers' gauges", values=(("1-7", 21), ("8-14", 6), ("15-21", 11), ("22-28", 29), ("29-31", 14))),
            dict(kind="curve", title="Lowest temperature", unit="Degrees Celsius, every fourth night", values=(("1", 9), ("5", 8), ("9", 4), ("13", 3), ("17", 5), ("21", 1), ("25", -1), ("29", 2))))),
        Charts("The map", "The first cold comes from the north-east, along the flank of a high that has nothing else to do.", (
            dict(kind="pressure", title="14 November, expected", unit="Lines join places of equal pressure, in hectopascals"),)),
        Feature("Houses", "Summer in the cellar", "Under the village of Oxley there is a tank as large as a church. It holds the month of July.", (
            "The idea is older than it looks. Ice was once cut in winter and kept under straw until August. Oxley does the same thing the other way "
            "about. All summer the sun on ninety roofs heats water, and the water is sent down into a pit lined with gravel and clay.",
            "By September the tank stands at eighty degrees. It is covered with a metre of foam glass and a playing field. The heat would like to leave, but there is so much of it, and so little "
            "surface to leave by, that it takes half a year to lose a third.",
            "That is the secret, if there is one: size. A cupful of hot water is cold within the hour. A lake of it has to be patient. Double the width of a tank and it holds "
            "eight times the heat behind only four times the wall.",
            "In November the pumps are turned round. All winter the radiators of Oxley are warm with last summer, and on the playing field the grass grows a fortnight "
            "early, which the under-tens regard as an unfair advantage."),
            (("hills", "rose", "Oxley, ninety roofs, at the end of the pumping season"), ("field", "evening", "Under the playing field: July.")),
            "A lake of it has to be patient."),
        Feature("Sky", "Stars for cold hands", "November has the best nights of the year and the worst fingers. A short tour, glove by glove.", (
            "Go out at nine, and let your eyes have ten minutes. Stand with your back to the nearest lamp. Hold out a fist at arm's length: it is ten degrees wide, "
            "and it is the only instrument you need.",
            "Look east for a small smudge, as if someone had breathed on the sky. That is the Seven Sisters. Most people count six. Two fists below them is an "
            "orange star, the eye of the Bull, who has just got up and is in no hurry.",
            "Overhead is the great square of the Flying Horse, with hardly a star inside it. Count those you can see. Fewer than three, and there is mist about; more than "
            "five, and you live in an enviable place.",
            "Before you go in, look low in the north-east. The Hunter is lifting one shoulder over the hedge. By midnight he will be standing. By then you should not be."),
            (("night", "night", "Looking north from the playing field, nine o'clock"), ("night", "frost", "Green light after midnight, seen twice this year.")),
            "Let your eyes have ten minutes."),
        Plate(("forest", "rose", "b"), "Hoar", "Not snow. Every twig has grown this for itself, out of the air, pointing into the wind."),
        Plate(("sea", "frost", "c"), "Sea smoke", "The water is at nine degrees and the air is at minus four. The bay steams like a bath, and the cormorants sit in it."),
        Plate(("clouds", "rose", "d"), "Four in the afternoon", "The sun goes down behind the gasworks, and for six minutes nobody could say a word against the gasworks."),
        Notes("Make an ice lantern", "One bucket, one night, one candle. It will be gone by Friday, which is part of it.", (
            ("Fill", "A bucket, full to a hand below the brim. Put in a few leaves or berries. Stand it outside, off the ground."),
            ("Wait", "One night at minus five. The sides freeze first. Stop while the middle is still water."),
            ("Turn out", "Pour warm water over the bucket and tip. Let the middle run away. You have a bowl of ice with walls two fingers thick."),
            ("Light", "A short candle, set on a flat stone so it does not melt its way through. Put it where someone will come home."),
            ), ("rain", "evening", "lantern")),
        Notes("Letters", "Paper, post or pigeon. We print what made us go and look out of the window.", (
            ("Rain at last", "It has rained. The gauge says thirty-one. I withdraw my earlier letter and have bought boots."),
            ("Bridge six", "As a passenger on the Tarn line for thirty years I must tell you that bridge six does not thud. It coughs."),
            ("The frog", "Our fog catcher also had a frog in it. Is it possible that you have invented a frog catcher?"),
            ("Hedges", "I counted nine kinds in thirty paces. My neighbour counted seven. We are no longer speaking, but we have agreed not to cut it."),
            ), ("hills", "frost", "letters")),
        Table("The almanac", "Times for the lowland coast in November, in local time. Wear two pairs.",
              ("Day", "Sunrise", "Sunset", "High water", "Look for"), (
            ("1 Sun", "06:58", "16:37", "00:20", "ice on puddles"), ("3 Tue", "07:02", "16:34", "02:51", "fieldfares"), ("5 Thu", "07:05", "16:30", "05:30", "bonfire haze"),
            ("7 Sat", "07:09", "16:27", "07:22", "last bats"), ("9 Mon", "07:12", "16:24", "08:47", "new moon"), ("11 Wed", "07:16", "16:21", "09:58", "window ferns"),
            ("13 Fri", "07:20", "16:18", "11:03", "long shadows"), ("15 Sun", "07:23", "16:15", "12:05", "woodcock moon"), ("17 Tue", "07:27", "16:13", "12:48", "shooting stars"),
            ("19 Thu", "07:30", "16:11", "13:55", "sea smoke"), ("21 Sat", "07:33", "16:08", "15:12", "hoar frost"), ("23 Mon", "07:37", "16:07", "16:41", "the Hunter by nine"),
            ("25 Wed", "07:40", "16:05", "18:09", "full moon"), ("27 Fri", "07:43", "16:04", "19:22", "first snow, hills"), ("29 Sun", "07:46", "16:02", "20:25", "wrens in company")))),
    next_issue=("The dark issue", ("hills", "night", "next"), "The shortest day, the longest shadow, and a town that turns off its lamps for one night to see what is there."),
)
